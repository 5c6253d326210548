"""The opening message of a review session: the form of an answer, the text, and its context. Pure.

Programs get the plain text in a fence. Models get numbered lines, the lines to review marked, and the rules
of the project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ...models.text.numbered_lines import (
    CONTEXT,
    NUMBERED,
    REVIEWED,
    ShownLine,
    format_ranges,
    read_numbered_lines,
)
from ..reviewers.code import fence_text, fenced_blocks
from ..values.runs import Item, ItemPart
from .splitter import Chunk

_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".md": "markdown",
    ".yml": "yaml",
    ".js": "javascript",
    ".ts": "typescript",
}
#: Maximum ranges in the first sentence of a part.
MAX_SCOPE_RANGES = 20
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}")
_PLAIN_ANSWER = (
    'Answer with JSON and nothing else: {"findings": [{"line": 3, "end_line": 4, "rule": "short-name", '
    '"severity": "critical, high, medium, low or info", "message": "what is wrong", '
    '"suggestion": "what to do", "confidence": 0.8}], "summary": "one sentence"}'
)
_MODEL_ANSWER = (
    'Answer with JSON and nothing else: {"findings": [{"line": 3, "end_line": 4, "quote": "text of line 3", '
    '"rule": "short-name", "severity": "critical, high, medium, low or info", "confidence": 0.8, '
    '"message": "what is wrong", "why": "what happens because of it", "suggestion": "what to do", '
    '"replacement": "code in place of lines 3 to 4"}], "summary": "one sentence"}\n'
    "Copy the quote exactly, without the line number: a finding whose quote is not in the text is dropped. "
    "Leave out a replacement that you are not sure of."
)
_MARKS = (
    f"Each line begins with its number. Review the lines with {REVIEWED!r} after the number; lines with "
    f"{CONTEXT!r} are context."
)


class Section(NamedTuple):
    """Context of an item beside its text."""

    title: str
    text: str


def plain_opening(item: Item, text: str) -> str:
    """Return the opening message for programs: the whole item in a fence, and the format of an answer."""
    return "\n".join(
        [f"Review {json.dumps(item.path)}.{_changed(item)} {_PLAIN_ANSWER}", fence_text(text, _info(item))]
    )


def numbered_opening(item: Item, chunk: Chunk, *, sections: Sequence[Section] = ()) -> str:
    """Return the opening message for models: a chunk with numbered lines, and its context."""
    first = " The changed lines come first." if item.changed is not None else ""
    return "\n".join(
        [
            f"Review {json.dumps(item.path)}{_scope(item.part)}. {_MARKS}{first} {_MODEL_ANSWER}",
            fence_text(chunk.render(), f"{_info(item)} {NUMBERED}"),
            *(f"{section.title}\n{fence_text(section.text, 'text')}" for section in sections),
        ]
    )


def shown_lines(opening: str) -> dict[int, ShownLine]:
    """Return the numbered lines of an opening message; empty: it is for programs."""
    blocks = (body for info, body in fenced_blocks(opening, with_numbers=True) if NUMBERED in info.split())
    return read_numbered_lines(next(blocks, ""))


def _scope(part: ItemPart | None) -> str:
    if part is None:
        return ""
    return f", lines {format_ranges(part.lines[:MAX_SCOPE_RANGES])} (part {part.number} of {part.count})"


def _info(item: Item) -> str:
    path = PurePosixPath(item.path)
    language = _LANGUAGES.get(path.suffix, path.suffix.removeprefix("."))
    return " ".join(name for name in (language or "text", path.name) if _PLAIN_NAME.fullmatch(name))


def _changed(item: Item) -> str:
    if item.changed is None:
        return ""
    listed = ", ".join(f"{first}-{last}" for first, last in item.changed[:100])
    return f" Review only the changed lines: {listed}." if listed else ""
