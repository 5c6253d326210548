"""What was not reviewed, folded: one entry for each reason, with a count and the first paths. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .runs import SkippedItem

#: Maximum paths that an entry names.
MAX_NAMED_PATHS = 20


@dataclass(frozen=True, slots=True)
class NotReviewed:
    """Files that were not reviewed for one reason."""

    reason: str
    count: int
    #: The first of them.
    paths: tuple[str, ...]

    @property
    def more(self) -> str:
        """The number of files without a name here, in words; empty: each is named."""
        unnamed = self.count - len(self.paths)
        if not unnamed:
            return ""
        return f"and {unnamed:,} more" if self.paths else f"{unnamed:,} not listed"

    def __str__(self) -> str:
        return f"{self.reason} ({self.count:,}): {', '.join(filter(None, (*self.paths, self.more)))}"


def fold_by_reason(items: Iterable[SkippedItem]) -> tuple[NotReviewed, ...]:
    """Return an entry for each reason, in the order of their first items."""
    counts: dict[str, int] = {}
    paths: dict[str, list[str]] = {}
    for item in items:
        counts[item.reason] = counts.get(item.reason, 0) + item.count
        named = paths.setdefault(item.reason, [])
        if item.count == 1 and len(named) < MAX_NAMED_PATHS:
            named.append(item.path)
    return tuple(NotReviewed(reason, count, tuple(paths[reason])) for reason, count in counts.items())
