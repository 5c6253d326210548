"""Reviews as people look for them: those under way in Redis, and those that ended in the archive."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from redis.exceptions import RedisError

from ..archive.reviews.values import ListedRun
from ..client import Client
from ..models.errors import InvalidInput, ReviewNotFound, StateError
from ..models.ids import is_uuid4, timestamp_from_ms
from ..reviews.job import ReviewJob
from ..state.review_index import LISTED
from ..state.review_records import BatchView

#: Characters an id may be shortened to.
SHORTEST = 8


@dataclass(frozen=True, slots=True)
class ListedReview:
    """One review of a list."""

    id: str
    root_name: str
    panel: str
    state: str
    started: str
    #: How many items are in each state, and how many findings have each status.
    items: dict[str, int]
    findings: dict[str, int]

    @property
    def told(self) -> str:
        """Items and findings in words."""
        parts = [
            f"{count} {name}" for counts in (self.items, self.findings) for name, count in counts.items()
        ]
        return ", ".join(parts) or "nothing"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def listed(client: Client, *, limit: int) -> list[ListedReview]:
    """The newest reviews. Where Redis is away those of the archive, and the other way round."""
    found = {it.id: it for it in _archived(client, limit)}
    with suppress(StateError, RedisError):
        found |= {it.id: it for it in _live(client, limit) if it.id not in found}
    return sorted(found.values(), key=lambda it: it.started, reverse=True)[:limit]


def find_review(client: Client, text: str) -> ReviewJob:
    """The review with this id, or the one whose id begins so.

    Raises:
        InvalidInput: it is too short, or several begin so.
        ReviewNotFound: none does.
    """
    wanted = text.strip().lower()
    if is_uuid4(wanted):
        return client.get_review(wanted)
    if len(wanted) < SHORTEST:
        raise InvalidInput("id", text, f"must be a review's id, or its first {SHORTEST} characters or more")
    ids = set[str]()
    if (reader := _reader(client)) is not None:
        ids |= set(reader.ids(wanted))
    with suppress(StateError, RedisError):
        ids |= {it for it in client.office.index.newest(count=LISTED) if it.startswith(wanted)}
    if len(ids) > 1:
        raise InvalidInput("id", text, f"must be longer: {len(ids)} reviews begin so")
    if not ids:
        raise ReviewNotFound(wanted)
    return client.get_review(ids.pop())


def _reader(client: Client) -> Any:
    archive = client.archive
    return None if archive is None or archive.to_read() is None else archive.review_reader


def _archived(client: Client, limit: int) -> list[ListedReview]:
    reader = _reader(client)
    return [] if reader is None else [_of_archive(it) for it in reader.page(limit=limit).items]


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


def _live(client: Client, limit: int) -> list[ListedReview]:
    store, index, found, expired = client.office.store, client.office.index, [], []
    for batch_id in index.newest(count=limit):
        try:
            view, head = store.view(batch_id), store.head(batch_id)
        except ReviewNotFound:
            expired.append(batch_id)
            continue
        found.append(
            ListedReview(
                id=batch_id,
                root_name=head.root_name,
                panel=head.panel.name,
                state=view.state,
                started=timestamp_from_ms(view.started_ms),
                items=_items(view),
                findings={},
            )
        )
    index.unlist(expired)
    return found


def _items(view: BatchView) -> dict[str, int]:
    names = ("waiting", "running", "done", "failed", "unchanged", "cancelled")
    return dict(+Counter({name: getattr(view, name) for name in names}))
