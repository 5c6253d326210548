"""List of reviews: running ones in Redis, ended ones in the archive."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from redis.exceptions import RedisError

from ....archive.results import ListedRun
from ....client import Client, installation_of
from ....models.errors import ReviewNotFound, StateError
from ....models.text.ids import timestamp_from_ms
from ....state.reviews.records import BatchView


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


def list_reviews(client: Client, *, limit: int) -> list[ListedReview]:
    """Return the newest reviews. Without Redis only archived ones, without an archive only live ones.

    Args:
        client: Client of the installation.
        limit: Maximum number of reviews.
    """
    found = {it.id: it for it in _archived(client, limit)}
    with suppress(StateError, RedisError):
        found |= {it.id: it for it in _live(client, limit) if it.id not in found}
    return sorted(found.values(), key=lambda it: it.started, reverse=True)[:limit]


def _reader(client: Client) -> Any:
    archive = client.archive
    return None if archive is None or archive.open_reader() is None else archive.review_reader


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
    reviews, found, expired = installation_of(client).reviews, [], []
    for batch_id in reviews.index.newest(count=limit):
        try:
            view, head = reviews.store.view(batch_id), reviews.store.head(batch_id)
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
    reviews.index.unlist(expired)
    return found


def _items(view: BatchView) -> dict[str, int]:
    names = ("waiting", "running", "done", "failed", "unchanged", "cancelled")
    return dict(+Counter({name: getattr(view, name) for name in names}))
