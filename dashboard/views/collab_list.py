"""The list of sessions: filter, order, counts and pages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypedDict

from ...archive.results import decode_cursor, encode_cursor
from ...models.sessions.query import ATTENTIONS, SessionQuery, sort_value
from ...models.sessions.shown_status import ShownStatus
from .collab_row import CollabRow

#: Values of the filter by status, besides `ATTENTIONS`.
STATUSES = {status.value: status.value for status in ShownStatus}
#: Maximum rows per page.
MAX_ROWS = 500


class CollabPage(TypedDict):
    """A page of the list."""

    #: Position for the stream of changes.
    position: str
    #: Sessions in memory by status as shown, and by attention.
    counts: dict[str, int]
    collabs: list[CollabRow]
    #: Cursor of the next page; None: this is the last one.
    next: str | None


def count_rows(rows: Iterable[CollabRow]) -> dict[str, int]:
    """Return the number of rows by status as shown, and by attention."""
    counts: Counter[str] = Counter(dict.fromkeys((*STATUSES, *ATTENTIONS), 0))
    for row in rows:
        counts[row["shown"]] += 1
        if row["attention"] is not None:
            counts[row["attention"]] += 1
    return dict(counts)


def list_page(
    rows: Sequence[CollabRow],
    query: SessionQuery,
    *,
    now_ms: int,
    position: str,
    counts: dict[str, int],
    after: str = "",
    limit: int = 100,
) -> CollabPage:
    """Return a page of the sessions in memory.

    A cursor is the sort key of the last row, so rows that move do not change the other pages.

    Args:
        rows: All rows.
        query: Filters and order.
        now_ms: Time from which ages count, in milliseconds since the epoch.
        position: The position of the newest change.
        counts: Counts of all rows.
        after: Cursor of the page before; empty: the first page.
        limit: Maximum number of rows.

    Raises:
        InvalidInput: The cursor is not of a page in this order.
    """
    key = partial(sort_value, query=query, now_ms=now_ms)
    matching = [row for row in rows if query.matches(row, now_ms=now_ms)]
    matching.sort(key=key, reverse=query.is_descending)
    if after:
        last = _read_cursor(after, query)
        matching = [row for row in matching if (key(row) < last if query.is_descending else key(row) > last)]
    page = matching[:limit]
    more = len(matching) > limit
    return CollabPage(
        position=position,
        counts=counts,
        collabs=page,
        next=encode_cursor(*key(page[-1])) if more else None,
    )


def _read_cursor(cursor: str, query: SessionQuery) -> tuple[Any, str]:
    kind = str if query.sort_key in ("title", "mode", "status") else int
    value, session_id = decode_cursor(cursor, kind, str)
    return value, session_id
