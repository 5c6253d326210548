"""Fenced blocks of Markdown, which carry text unchanged inside a message, even if it contains fences."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t]*(`{3,})([^`]*)")
_SHORTEST = 3


def fence_text(text: str, info: str = "") -> str:
    """Return `text` as a block between fences that are longer than any fence in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(longest + 1, _SHORTEST)
    ending = "" if text.endswith("\n") else "\n"
    return f"{fence}{info}\n{text}{ending}{fence}"


def fenced_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield info and text of each closed block; the closing fence is at least as long (CommonMark 4.5)."""
    fence, info, lines = "", "", list[str]()
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if fence and found and len(found[1]) >= len(fence) and not found[2].strip():
            yield info, "".join(f"{it}\n" for it in lines)
            fence = ""
        elif fence:
            lines.append(line)
        elif found:
            fence, info, lines = found[1], found[2].strip(), []
