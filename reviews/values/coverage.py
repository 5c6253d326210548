"""Coverage of a run: the share of its items that was reviewed, and why the others were not. Pure.

Files that are not meant for review are not counted: binary, empty and generated ones, links, and those that the panel
excludes by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...models.text.words import count_of
from .runs import ItemResult, ItemState, ReviewRun, SkippedItem

BINARY, EMPTY, GENERATED, VENDORED = "binary", "empty", "generated", "vendored"
#: First words of the reason for which a panel leaves files out by their names.
NOT_MEANT, ONLY_MEANT = "the panel does not review", "the panel reviews"
#: First words of the reasons for which a file is left out on purpose.
_BY_DESIGN = (
    *(BINARY, EMPTY, GENERATED, VENDORED, NOT_MEANT, ONLY_MEANT, "deleted: "),
    *("another repository", "symbolic link", "not a regular file", "older than the newest"),
)
_REVIEWED = (ItemState.DONE, ItemState.UNCHANGED)
#: Maximum reasons in a text.
_MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class Coverage:
    """Number of items that were reviewed, and of the others by reason."""

    reviewed: int
    #: Items that were not reviewed, by reason.
    missed: Mapping[str, int]
    #: Files that are not meant for review, by reason.
    left_out: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of items to review."""
        return self.reviewed + sum(self.missed.values())

    @property
    def share(self) -> float:
        """Share of the items that was reviewed; 1 if there is none."""
        return self.reviewed / self.total if self.total else 1.0

    @property
    def is_whole(self) -> bool:
        """Return whether every item was reviewed."""
        return not self.missed

    def __str__(self) -> str:
        """Return the share and the reasons in words; empty if every item was reviewed, and no file was left out."""
        parts = []
        if self.missed:
            percent = int(self.share * 100)  # 99.9% is not all
            parts.append(
                f"Reviewed {self.reviewed:,} of {count_of(self.total, 'item', spec=',')} ({percent}%);"
            )
            parts.append(f"not reviewed: {_listed(self.missed)}.")
        if self.left_out:
            parts.append(f"Left out: {_listed(self.left_out)}.")
        return " ".join(parts)

    def to_json(self) -> dict[str, object]:
        """Return the counts as JSON data."""
        return {
            "reviewed": self.reviewed,
            "total": self.total,
            "share": round(self.share, 4),
            "missed": dict(self.missed),
            "left_out": dict(self.left_out),
        }


def coverage_of(run: ReviewRun) -> Coverage:
    """Return the coverage of a run."""
    return count_coverage(run.results, run.skipped)


def count_coverage(results: Iterable[ItemResult], skipped: Sequence[SkippedItem]) -> Coverage:
    """Return the coverage of results, beside the skipped items."""
    states = Counter(result.state for result in results)
    missed = Counter({str(state): count for state, count in states.items() if state not in _REVIEWED})
    left_out = Counter[str]()
    for item in skipped:
        counts = left_out if item.reason.startswith(_BY_DESIGN) else missed
        counts[item.reason] += item.count
    return Coverage(sum(states[state] for state in _REVIEWED), missed, left_out)


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    parts = [f"{count:,} {reason}" for reason, count in ordered[:_MAX_REASONS]]
    rest = sum(count for _, count in ordered[_MAX_REASONS:])
    return ", ".join([*parts, *([f"{rest:,} for other reasons"] if rest else [])])
