"""Changes of files: hunks with the removed lines, and what the author says of the change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...models.turns.frozen import Frozen

#: Maximum bytes of the removed lines of one file that are kept.
MAX_REMOVED_BYTES = 262_144
#: Maximum commits of a change that are described, and characters of the title and the description.
MAX_COMMITS, MAX_TITLE, MAX_DESCRIPTION = 50, 300, 8_000
#: Maximum linked issues of a change, and bytes of each.
MAX_ISSUES, MAX_ISSUE_BYTES = 3, 2_000


class Hunk(NamedTuple):
    """Lines that were replaced: numbers from 1; without lines, the number of the line that would follow."""

    old_start: int
    old_count: int
    #: Removed lines; fewer than `old_count` if they are too long.
    removed: tuple[str, ...]
    new_start: int
    new_count: int

    @property
    def added(self) -> range:
        """Numbers of the new lines."""
        return range(self.new_start, self.new_start + self.new_count)


class LinkedIssue(Frozen):
    """An issue that the change closes."""

    #: Such as `#12`.
    name: str
    title: str
    description: str = ""


class ChangeDescription(Frozen):
    """What the author of a change says about it."""

    #: Title and description of the pull request; empty: not known.
    title: str = ""
    description: str = ""
    #: Issues that the code host links with the pull request.
    issues: tuple[LinkedIssue, ...] = ()
    #: Messages of the commits, the oldest first.
    commits: tuple[str, ...] = ()


def changed_ranges(hunks: Iterable[Hunk]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of new lines; if lines were only removed, the line before them (or the first)."""
    return tuple(
        (max(hunk.new_start - (not hunk.new_count), 1), max(hunk.new_start + hunk.new_count - 1, 1))
        for hunk in hunks
    )


def removed_ranges(hunks: Iterable[Hunk]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of removed lines, with their numbers before the change."""
    return tuple((hunk.old_start, hunk.old_start + hunk.old_count - 1) for hunk in hunks if hunk.old_count)


def text_before(lines: Sequence[str], hunks: Iterable[Hunk]) -> list[str]:
    """Return the lines before a change; removed lines that were not kept are missing."""
    before: list[str] = []
    at = 0
    for hunk in hunks:
        before += [*lines[at : hunk.new_start - 1], *hunk.removed]
        at = hunk.new_start - 1 + hunk.new_count
    return [*before, *lines[at:]]
