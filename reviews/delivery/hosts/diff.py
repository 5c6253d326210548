"""Lines of a pull request that can have comments: those of the hunks of its diff. Pure.

The number of a finding's line counts only if the diff has the same text there. So no comment is written to another
line when the pull request has changed since the review, or when a merge of it was reviewed.

Source: git-diff(1), "Generating patch text with -p"; the code hosts send each file's hunks without its header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...values.findings import MAX_QUOTE, Finding

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the new file in a hunk: added, or unchanged."""

    text: str
    #: Its number in the old file; None: it was added.
    old_line: int | None
    #: Number of the hunk, from 1.
    hunk: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Diff of one file."""

    path: str
    old_path: str
    #: By their numbers in the new file, from 1; empty for a diff that the host does not show.
    lines: Mapping[int, DiffLine] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines of the new file to comment on, all in one hunk."""

    file: FileDiff
    start: int
    end: int
    #: True if these are the flagged lines, unchanged since the review: a replacement can be committed.
    is_exact: bool

    @property
    def old_start(self) -> int | None:
        """Number of the first line in the old file; None: it was added."""
        return self.file.lines[self.start].old_line


def parse_patch(patch: str) -> dict[int, DiffLine]:
    """Return the lines of the new file in the hunks of a patch, by their numbers."""
    lines: dict[int, DiffLine] = {}
    old, new, hunk = 0, 0, 0
    for line in patch.split("\n"):
        if header := _HUNK.match(line):
            old, new, hunk = int(header[1]), int(header[2]), hunk + 1
        elif not hunk:
            continue
        elif line.startswith("+"):
            lines[new] = DiffLine(line[1:], None, hunk)
            new += 1
        elif line.startswith(" "):
            lines[new] = DiffLine(line[1:], old, hunk)
            old, new = old + 1, new + 1
        elif line.startswith("-"):
            old += 1
    return lines


def find_anchor(finding: Finding, files: Mapping[str, FileDiff]) -> Anchor | None:
    """Return the lines to comment on; None: the diff does not have the first flagged line."""
    file = files.get(finding.path)
    first = None if file is None else file.lines.get(finding.start_line)
    if file is None or first is None or (finding.snippet_sha and not _is_same(first.text, finding.quote)):
        return None
    flagged = [file.lines.get(number) for number in range(finding.start_line, finding.end_line + 1)]
    if any(line is None or line.hunk != first.hunk for line in flagged):
        return Anchor(file, finding.start_line, finding.start_line, is_exact=False)
    texts = [line.text for line in flagged if line is not None]
    return Anchor(file, finding.start_line, finding.end_line, is_exact=_is_unchanged(finding, texts))


def _is_unchanged(finding: Finding, texts: list[str]) -> bool:
    """Return whether the flagged lines are those that were reviewed, as far as the excerpt shows all of them."""
    excerpt = finding.excerpt
    if excerpt is None:
        return False
    skipped = finding.start_line - excerpt.first_line
    reviewed = excerpt.lines[skipped : skipped + len(texts)] if skipped >= 0 else ()
    return len(reviewed) == len(texts) and all(map(_is_same, texts, reviewed))


def _is_same(text: str, reviewed: str) -> bool:
    return text[:MAX_QUOTE].rstrip("\r") == reviewed.rstrip("\r")
