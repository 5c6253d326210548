"""The list of sessions: filter, order, counts and pages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from ...archive.results import decode_cursor, encode_cursor
from ...models.errors import InvalidInput
from ...models.protocol.collab import CollabStatus
from .attention import ATTENTIONS, attention_name
from .collab_row import CollabRow

#: Values of the filter by status, with their words in the page; those of `ATTENTIONS` are further ones.
STATUSES = {status.value: status.value for status in CollabStatus}
#: Maximum rows per page.
MAX_ROWS = 500

#: Sort key -> field of a row; the page sorts the rows that change in the same way. Case does not matter.
SORT_FIELDS = {
    "activity": "updated_ms",
    "opened": "opened_ms",
    "title": "title",
    "mode": "mode",
    "status": "status",
    "turns": "turns",
    "tokens": "tokens",
    "cost": "cost_micros",
}


class CollabPage(TypedDict):
    """A page of the list."""

    #: Position for the stream of changes.
    position: str
    #: Sessions in memory by status, and by attention.
    counts: dict[str, int]
    collabs: list[CollabRow]
    #: Cursor of the next page; None: this is the last one.
    next: str | None


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Filter of rows; empty: any."""

    #: A status, or a kind of attention.
    status: str = ""
    mode: str = ""
    #: Text in the title, the id, or the name of a speaker.
    text: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", attention_name(self.status))
        if self.status and self.status not in (*STATUSES, *ATTENTIONS):
            raise InvalidInput("status", self.status, f"must be one of {', '.join((*STATUSES, *ATTENTIONS))}")

    def matches(self, row: CollabRow) -> bool:
        """Return whether a row fits."""
        if self.status and self.status not in (row["status"], row["attention"]):
            return False
        if self.mode and self.mode != row["mode"]:
            return False
        return not self.text or self.text.casefold() in _searched(row)


@dataclass(frozen=True, slots=True)
class ListOrder:
    """Order of rows: by a field, then by id."""

    by: str = "activity"
    descending: bool = True

    def __post_init__(self) -> None:
        if self.by not in SORT_FIELDS:
            raise InvalidInput("sort", self.by, f"must be one of {', '.join(SORT_FIELDS)}")

    def key(self, row: CollabRow) -> tuple[Any, str]:
        """Return the sort key of a row."""
        value = cast("Mapping[str, Any]", row)[SORT_FIELDS[self.by]]
        return value.casefold() if isinstance(value, str) else value, row["id"]


def count_rows(rows: Iterable[CollabRow]) -> dict[str, int]:
    """Return the number of rows by status, and by attention."""
    counts: Counter[str] = Counter(dict.fromkeys((*STATUSES, *ATTENTIONS), 0))
    for row in rows:
        counts[row["status"]] += 1
        if row["attention"] is not None:
            counts[row["attention"]] += 1
    return dict(counts)


def list_page(
    rows: Sequence[CollabRow],
    wanted: ListFilter,
    order: ListOrder,
    *,
    position: str,
    counts: dict[str, int],
    after: str = "",
    limit: int = 100,
) -> CollabPage:
    """Return a page of the sessions in memory.

    A cursor is the sort key of the last row, so rows that move do not change the other pages.

    Args:
        rows: All rows.
        wanted: The filter.
        order: The order.
        position: The position of the newest change.
        counts: Counts of all rows.
        after: Cursor of the page before; empty: the first page.
        limit: Maximum number of rows.

    Raises:
        InvalidInput: The cursor is not of a page in this order.
    """
    matching = sorted(filter(wanted.matches, rows), key=order.key, reverse=order.descending)
    if after:
        last = _read_cursor(after, order)
        matching = [
            row for row in matching if (order.key(row) < last if order.descending else order.key(row) > last)
        ]
    page = matching[:limit]
    more = len(matching) > limit
    return CollabPage(
        position=position,
        counts=counts,
        collabs=page,
        next=encode_cursor(*order.key(page[-1])) if more else None,
    )


def _read_cursor(cursor: str, order: ListOrder) -> tuple[Any, str]:
    kind = str if order.by in ("title", "mode", "status") else int
    value, session_id = decode_cursor(cursor, kind, str)
    return value, session_id


def _searched(row: CollabRow) -> str:
    speakers = " ".join(speaker["name"] for speaker in row["speakers"])
    return f"{row['title']} {row['id']} {row['thread'] or ''} {speakers}".casefold()
