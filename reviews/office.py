"""What a process needs to bring batch reviews forward: one of each, handed to the verbs of `batch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from celery import Celery

from ..models.review.runs import ReviewRun
from ..state.index import SessionIndex
from ..state.review_index import ReviewIndex
from ..state.review_records import BatchHead
from ..state.reviews import ReviewStore
from ..state.store import SessionStore
from ..state.streams import StreamReader
from ..tasks.opening import SessionOpener
from .queue import ReviewQueue

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: Told of each run that has ended, before others see that it has; it may be told once more when it raised.
Told = Callable[[ReviewRun, BatchHead], None]


def tells_nobody(_run: ReviewRun, _head: BatchHead) -> None:
    """For batches whose end somebody waits for."""


@dataclass(frozen=True, slots=True)
class Office:
    """The places where batches, their sessions and their runs are."""

    store: ReviewStore
    index: ReviewIndex
    sessions: SessionStore
    session_index: SessionIndex
    streams: StreamReader
    opener: SessionOpener
    queue: ReviewQueue
    #: How long the live keys of a session stay after its end.
    retention_ms: int
    #: None: no archive is kept; then every item is reviewed every time.
    archive: Archive | None = None
    tell: Told = tells_nobody


_ATTRIBUTE = "symposia_office"


def install_office(app: Celery, provider: Callable[[], Office]) -> None:
    """Tells an app's tasks where batches are brought forward (called once a process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def office_of(app: Celery) -> Office:
    """The office of this process."""
    provider: Callable[[], Office] = getattr(app, _ATTRIBUTE)
    return provider()
