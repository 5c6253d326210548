"""Code of a finding for people: its lines with the flagged ones marked, and its patch as a diff.

Characters that are invisible, or that change the order in which text is shown, are written as their code
point, so that a report shows what is in the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ..values.findings import Finding

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


class ExcerptLine(NamedTuple):
    """A line of an excerpt."""

    number: int
    text: str
    is_flagged: bool


class DiffLine(NamedTuple):
    """A line of a diff: `-` removed, `+` added, or a blank."""

    sign: str
    text: str


def visible_line(text: str) -> str:
    """Return one line of a file without its line end; hidden characters become `<U+XXXX>`."""
    line = text.rstrip("\r\n").replace("\n", " ")
    return _HIDDEN.sub(lambda it: f"<U+{ord(it[0]):04X}>", line)


def excerpt_lines(finding: Finding) -> tuple[ExcerptLine, ...]:
    """Return the lines around a finding; none if they are not known or it is about the whole item."""
    if finding.excerpt is None or not finding.start_line:
        return ()
    flagged = range(finding.start_line, finding.end_line + 1)
    return tuple(
        ExcerptLine(number, visible_line(line), number in flagged)
        for number, line in enumerate(finding.excerpt.lines, finding.excerpt.first_line)
    )


def replacement_diff(finding: Finding) -> tuple[DiffLine, ...]:
    """Return the proposed replacement as a diff; none without a replacement.

    If the excerpt lacks some of the replaced lines, only the new lines are returned.
    """
    if finding.replacement is None or not finding.start_line:
        return ()
    new = [visible_line(line) for line in finding.replacement.split("\n")] if finding.replacement else []
    old = [it.text for it in excerpt_lines(finding) if it.is_flagged]
    if len(old) <= finding.end_line - finding.start_line:
        return tuple(DiffLine("+", line) for line in new)
    return tuple(_diff(old, new))


def _diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    lines: list[DiffLine] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += (DiffLine(" ", line) for line in old[first:last])
        else:
            lines += (DiffLine("-", line) for line in old[first:last])
            lines += (DiffLine("+", line) for line in new[start:end])
    return lines
