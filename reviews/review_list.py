"""The list of reviews: running ones in Redis, ended ones in the archive, newest first."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from redis.exceptions import RedisError

from ..archive.results import MAX_PAGE_SIZE, PagePosition, ResultPage, decode_cursor, encode_cursor
from ..models.errors import ReviewNotFound, StateError
from ..models.text.ids import timestamp_from_ms
from ..state.redis.readers import Unreadable, read_record
from .archive.access import review_reader
from .archive.results import ListedRun
from .batches.context import ReviewContext
from .state.records import BatchView

#: Further reviews that are read for a page, because some of the same millisecond may be on the page before.
_EXTRA = 20
#: State of a review that cannot be read.
UNREADABLE = "unreadable"
#: Greatest row of the archive.
_LAST_ROW = 2**62


@dataclass(frozen=True, slots=True)
class ListedReview:
    """Row of a list of reviews."""

    id: str
    root_name: str
    panel: str
    state: str
    started: str
    #: Number of items per state, and of findings per status.
    items: dict[str, int]
    findings: dict[str, int]

    @property
    def counts_text(self) -> str:
        """Return items and findings as text."""
        parts = [
            f"{count} {name}" for counts in (self.items, self.findings) for name, count in counts.items()
        ]
        return ", ".join(parts) or "no items"

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return asdict(self)


#: Time (milliseconds since the epoch) and id, by which reviews are sorted.
_Key = tuple[int, str]


def review_page(context: ReviewContext, *, limit: int, after: str | None = None) -> ResultPage[ListedReview]:
    """Return reviews, newest first. Without Redis only archived ones, without an archive only live ones.

    Args:
        context: Store, index and archive of reviews.
        limit: Maximum number of reviews.
        after: Cursor of the page before; None: the first page.

    Raises:
        InvalidInput: The cursor is not valid.
    """
    last = None if after is None else _read_cursor(after)
    found = _archived(context, limit + _EXTRA, last)
    known = {it.id for _, it in found}
    with suppress(StateError, RedisError):
        found += [pair for pair in _live(context, limit + _EXTRA, last) if pair[1].id not in known]
    later = sorted((it for it in found if last is None or it[0] < last), key=_key, reverse=True)
    page = later[:limit]
    cursor = encode_cursor(*page[-1][0]) if len(later) > limit else None
    return ResultPage(tuple(it for _, it in page), cursor)


def _key(found: tuple[_Key, ListedReview]) -> _Key:
    return found[0]


def _read_cursor(cursor: str) -> _Key:
    at_ms, review_id = decode_cursor(cursor, int, str)
    return at_ms, review_id


def _reader(context: ReviewContext) -> Any:
    archive = context.archive
    return None if archive is None or archive.open_reader() is None else review_reader(archive)


def _archived(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    reader = _reader(context)
    if reader is None:
        return []
    start = None if last is None else PagePosition(last[0], _LAST_ROW).cursor()
    runs = reader.page(limit=min(limit, MAX_PAGE_SIZE), after=start).items
    return [((it.started_ms, it.run_id), _of_archive(it)) for it in runs]


def _of_archive(run: ListedRun) -> ListedReview:
    return ListedReview(
        id=run.run_id,
        root_name=run.root_name,
        panel=run.panel,
        state=run.state,
        started=timestamp_from_ms(run.started_ms),
        items=dict(run.items),
        findings=dict(run.findings),
    )


def _live(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    found, expired = [], []
    for batch_id, listed_ms in context.index.listed(limit, until_ms=None if last is None else last[0]):
        try:
            row = read_record("review", batch_id, partial(_of_batch, context, batch_id))
        except ReviewNotFound:
            expired.append(batch_id)
            continue
        if isinstance(row, Unreadable):
            row = ListedReview(
                batch_id, "", "", UNREADABLE, timestamp_from_ms(listed_ms), items={}, findings={}
            )
        found.append(((listed_ms, batch_id), row))
    context.index.unlist(expired)
    return found


def _of_batch(context: ReviewContext, batch_id: str) -> ListedReview:
    view, head = context.store.view(batch_id), context.store.head(batch_id)
    return ListedReview(
        id=batch_id,
        root_name=head.root_name,
        panel=head.panel.name,
        state=view.state,
        started=timestamp_from_ms(view.started_ms),
        items=_items(view),
        findings={},
    )


def _items(view: BatchView) -> dict[str, int]:
    names = ("waiting", "running", "done", "failed", "unchanged", "cancelled")
    return dict(+Counter({name: getattr(view, name) for name in names}))
