"""Services of a process for batch reviews: one of each, passed to the functions of `batch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from celery import Celery

from ...models.review.runs import ReviewRun
from ...state.redis.streams import StreamReader
from ...state.reviews.index import ReviewIndex
from ...state.reviews.records import BatchHead
from ...state.reviews.store import ReviewStore
from ...state.sessions.index import SessionIndex
from ...state.sessions.store import SessionStore
from ...tasks.sessions.opening import SessionOpener
from .queue import ReviewQueue

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Called for each ended run, before others see that it has ended; called again if it raised.
RunListener = Callable[[ReviewRun, BatchHead], None]


def ignore_run(_run: ReviewRun, _head: BatchHead) -> None:
    """Do nothing: for batches with a caller that waits for the end."""


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Stores of batches, their sessions and their runs."""

    store: ReviewStore
    index: ReviewIndex
    sessions: SessionStore
    session_index: SessionIndex
    streams: StreamReader
    opener: SessionOpener
    queue: ReviewQueue
    #: Milliseconds for which the live keys of a session are kept after its end.
    retention_ms: int
    #: None: there is no archive; then every item is reviewed every time.
    archive: Archive | None = None
    on_run_ended: RunListener = ignore_run


_ATTRIBUTE = "symposia_review_context"


def install_review_context(app: Celery, provider: Callable[[], ReviewContext]) -> None:
    """Set the provider of the review context of an app's tasks (called once a process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def review_context_of(app: Celery) -> ReviewContext:
    """Return the review context of this process."""
    provider: Callable[[], ReviewContext] = getattr(app, _ATTRIBUTE)
    return provider()
