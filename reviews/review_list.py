"""The list of reviews: running ones in Redis, ended ones in the archive, newest first."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from operator import itemgetter

from redis.exceptions import RedisError

from ..archive.results import MAX_PAGE_SIZE, ResultPage, decode_cursor, encode_cursor
from ..models.errors import ReviewNotFound, StateError
from ..models.text.ids import timestamp_from_ms
from ..state.redis.unreadable import Unreadable, read_record
from .archive.access import review_reader
from .batches.context import ReviewContext
from .values.runs import ListedReview

#: Further reviews that are read for a page, because some of the same millisecond may be on the page before.
_EXTRA = 20
#: State of a review that cannot be read.
UNREADABLE = "unreadable"
#: States of items, as fields of `BatchView`.
_ITEM_STATES = ("waiting", "running", "done", "failed", "unchanged", "cancelled")


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
    later = sorted((it for it in found if last is None or it[0] < last), key=itemgetter(0), reverse=True)
    page = later[:limit]
    cursor = encode_cursor(*page[-1][0]) if len(later) > limit else None
    return ResultPage(tuple(it for _, it in page), cursor)


def _read_cursor(cursor: str) -> _Key:
    at_ms, review_id = decode_cursor(cursor, int, str)
    return at_ms, review_id


def _archived(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    archive = context.archive
    if archive is None or archive.open_reader() is None:
        return []
    runs = review_reader(archive).listed(min(limit, MAX_PAGE_SIZE), until_ms=last and last[0])
    return [((at_ms, it.id), it) for at_ms, it in runs]


def _live(context: ReviewContext, limit: int, last: _Key | None) -> list[tuple[_Key, ListedReview]]:
    found, expired = [], list[str]()
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
        items={name: count for name in _ITEM_STATES if (count := getattr(view, name))},
        findings={},
    )
