"""Lines of a pull request that can have comments: those of the hunks of its diff. Pure.

The number of a finding's line counts only if the diff has the same text there. So no comment is written to another
line when the pull request has changed since the review, or when a merge of it was reviewed.

Source: git-diff(1), "Generating patch text with -p"; the code hosts send each file's hunks without its header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...values.findings import MAX_QUOTE, Finding, Side

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line in a hunk: of the new file an added or unchanged one, of the old file a removed or unchanged one."""

    text: str
    #: Its number in the other file; None: it was added or removed.
    other_line: int | None
    #: Number of the hunk, from 1.
    hunk: int
    #: Number in the other file of the line that follows there.
    next_other: int = 0


Lines = Mapping[int, DiffLine]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """Diff of one file."""

    path: str
    old_path: str
    #: By their numbers in the new file, from 1; empty for a diff that the host does not show.
    lines: Lines = field(default_factory=dict)
    #: By their numbers in the old file.
    old_lines: Lines = field(default_factory=dict)
    is_deleted: bool = False

    @classmethod
    def of_patch(cls, path: str, patch: str, *, old_path: str = "", is_deleted: bool = False) -> FileDiff:
        """Return the diff of a file from the hunks of its patch; empty: the host does not show it."""
        new, old = parse_patch(patch)
        return cls(path, old_path or path, new, old, is_deleted)

    def side(self, side: Side) -> Lines:
        """Return the lines of one side."""
        return self.old_lines if side is Side.LEFT else self.lines

    @property
    def changed(self) -> tuple[int, int]:
        """Number of added and removed lines."""
        added, removed = (
            sum(line.other_line is None for line in lines.values()) for lines in (self.lines, self.old_lines)
        )
        return added, removed


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines of one side of a file to comment on, all in one hunk."""

    file: FileDiff
    start: int
    end: int
    #: True if these are the flagged lines, unchanged since the review: a replacement can be committed.
    is_exact: bool
    side: Side = Side.RIGHT

    def line(self, number: int) -> DiffLine:
        """Return a line of the diff."""
        return self.file.side(self.side)[number]


def parse_patch(patch: str) -> tuple[dict[int, DiffLine], dict[int, DiffLine]]:
    """Return the lines of the new and of the old file in the hunks of a patch, by their numbers."""
    new_lines: dict[int, DiffLine] = {}
    old_lines: dict[int, DiffLine] = {}
    old, new, hunk = 0, 0, 0
    for line in patch.split("\n"):
        if header := _HUNK.match(line):
            old, new, hunk = int(header[1]), int(header[2]), hunk + 1
            continue
        mark = line[:1] if hunk else ""
        if mark and mark in "+ ":
            new_lines[new] = DiffLine(line[1:], old if mark == " " else None, hunk, old)
        if mark and mark in "- ":
            old_lines[old] = DiffLine(line[1:], new if mark == " " else None, hunk, new)
        new += mark in ("+", " ")
        old += mark in ("-", " ")
    return new_lines, old_lines


def cut_patch(patch: str, *, new_line: int | None, old_line: int | None) -> str:
    """Return a patch up to a line, given by its numbers; None: the line was added or removed."""
    lines = patch.split("\n")
    old, new = 0, 0
    for index, line in enumerate(lines):
        if header := _HUNK.match(line):
            old, new = int(header[1]), int(header[2])
            continue
        mark = line[:1]
        is_new = mark in ("+", " ") and new == new_line
        if is_new or (new_line is None and mark == "-" and old == old_line):
            return "\n".join(lines[: index + 1])
        new += mark in ("+", " ")
        old += mark in ("-", " ")
    return patch


def find_anchor(finding: Finding, files: Mapping[str, FileDiff]) -> Anchor | None:
    """Return the lines to comment on; None: the diff does not have the first flagged line."""
    file = files.get(finding.path)
    lines = {} if file is None else file.side(finding.side)
    if file is not None and finding.side is Side.LEFT:
        finding = _renumber_removed(finding, file)
    first = lines.get(finding.start_line)
    if file is None or first is None or (finding.snippet_sha and not _is_same(first.text, finding.quote)):
        return None
    flagged = [lines.get(number) for number in range(finding.start_line, finding.end_line + 1)]
    if any(line is None or line.hunk != first.hunk for line in flagged):
        return Anchor(file, finding.start_line, finding.start_line, is_exact=False, side=finding.side)
    texts = [line.text for line in flagged if line is not None]
    is_exact = finding.side is Side.RIGHT and _is_unchanged(finding, texts)
    return Anchor(file, finding.start_line, finding.end_line, is_exact=is_exact, side=finding.side)


def _renumber_removed(finding: Finding, file: FileDiff) -> Finding:
    """Return a finding with the numbers of the pull request: the review may have compared with a later revision."""
    removed = [
        number
        for number, line in file.old_lines.items()
        if line.other_line is None and _is_same(line.text, finding.quote)
    ]
    if len(removed) != 1 or not finding.quote:
        return finding
    length = finding.end_line - finding.start_line
    return finding.model_copy(update={"start_line": removed[0], "end_line": removed[0] + length})


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
