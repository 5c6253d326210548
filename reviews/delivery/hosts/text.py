"""Text of findings for comments on code hosts: it stays text.

Words that a code host would read as a mention, a reference, a link, a formula or an emoji become code, which is
shown as it is. An HTML entity would not do: the hosts look for mentions after they have rendered the Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ...reports.markdown import code_span, escape_text

#: Maximum characters of a text in a comment, before it is escaped.
MAX_TEXT = 2_000
_SPAN = re.compile(r"((?<!`)`[^`]+`(?!`))")
#: `@name`, `#1`, `!1`, `%1`, `~label`, `&1`, `$1`, `^name`, `GH-1`, `a://b`, `www.`, `:emoji:`, `/command`.
_SPECIAL = re.compile(
    r"[@$]|[#!%~&^*]\w|\bGH-\d|://|\bwww\.|:[\w+-]+:|\[\[|^/|\b[0-9a-f]{7,64}\b", re.IGNORECASE
)


def plain_text(said: str, *, most: int = MAX_TEXT) -> str:
    """Return text in one line of Markdown that a code host shows as it is.

    Text over `most` characters is cut. Invisible characters become blanks.
    """
    line = " ".join("".join(it if it.isprintable() else " " for it in said).split())
    line = line if len(line) <= most else f"{line[: most - 1]}…"
    text = ""
    for piece in _pieces(line):
        # Two code spans side by side would be read as one.
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece
    return text


def _pieces(line: str) -> Iterator[str]:
    """Yield code spans and escaped text of a line."""
    for number, part in enumerate(_SPAN.split(line)):
        if number % 2:
            yield part
            continue
        words = re.split(r"( +)", part)
        for is_special, group in groupby(words, key=lambda it: bool(_SPECIAL.search(it))):
            text = "".join(group)
            yield code_span(text) if is_special else _escape(text)


def _escape(text: str) -> str:
    """Return escaped text with the blanks at both ends, which `escape_text` removes."""
    stripped = text.strip(" ")
    if not stripped:
        return text
    start = text.index(stripped)
    return f"{text[:start]}{escape_text(stripped)}{text[start + len(stripped) :]}"


def is_visible(code: str) -> bool:
    """Return whether code has no invisible character, such as one that changes the writing direction."""
    return all(it.isprintable() or it in "\n\t" for it in code)


def fenced(language: str, text: str) -> str:
    """Return a code block that its text cannot end."""
    longest = max((len(it) for it in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{chr(10) if text else ''}{fence}"
