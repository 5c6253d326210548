"""Services of a process for batch reviews: the review context, and the dispatch of batches and items.

Messages contain only ids. They are hints: the sweep sends lost ones again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from ...models.turns.turn import REVIEW_PARAMETER
from ...state.presence import WorkerPresence
from ...state.redis.readers import StreamReader
from ...state.sessions.index import SessionIndex
from ...state.sessions.store import SessionStore
from ...tasks.runtime.graph import broker_error
from ...tasks.sessions.opening import SessionOpener
from ..state.decisions import DecisionStore
from ..state.queues import ReviewIndex
from ..state.readable_files import ReadableFiles
from ..state.records import BatchHead
from ..state.reviewed_pulls import ReviewedPulls
from ..state.store import ReviewStore
from ..values.runs import ReviewRun

if TYPE_CHECKING:
    from celery import Celery

    from ...archive.archive import Archive

REVIEW_TASK = "symposia.review"
REVIEW_ITEM_TASK = "symposia.review.item"
DELIVER = "symposia.deliver"


log = logging.getLogger(__name__)


class ReviewQueue:
    """Dispatch of batches and their items to workers. After a broker outage the sweep sends them."""

    def __init__(self, find_app: Callable[[], Celery]) -> None:
        self._find_app = find_app

    def send_items(self, batch_id: str, numbers: Sequence[int]) -> None:
        """Dispatch items that must be started, or whose result must be recorded."""
        if not numbers:
            return
        from celery import group

        app = self._find_app()
        tasks = [
            app.signature(
                REVIEW_ITEM_TASK,
                kwargs={"batch": batch_id, "item": number},
                options=_options(f"batch={batch_id} item={number}"),
            )
            for number in numbers
        ]
        try:
            group(tasks, app=app).apply_async(root_id=batch_id, add_to_parent=False)
        except broker_error() as error:
            log.warning("broker unavailable, the sweep will dispatch review %s: %s", batch_id, error)

    def send_batch(self, batch_id: str) -> None:
        """Dispatch a batch. Raises OperationalError."""
        self._find_app().send_task(
            REVIEW_TASK, kwargs={"batch": batch_id}, root_id=batch_id, **_options(f"batch={batch_id}")
        )

    def session_ended(self, parameters: Mapping[str, JsonValue]) -> None:
        """Dispatch the item that an ended session with these parameters reviewed, if any."""
        parameter = parameters.get(REVIEW_PARAMETER)
        if not isinstance(parameter, dict):
            return
        batch, number = parameter.get("batch"), parameter.get("item")
        if isinstance(batch, str) and isinstance(number, int):
            self.send_items(batch, [number])


def _options(shown: str) -> dict[str, Any]:
    return {
        "argsrepr": "",
        "kwargsrepr": shown,
        "add_to_parent": False,
        "ignore_result": True,
        "serializer": "json",
    }


#: Callback for each ended run, called before other processes see the end; called again if it raised.
RunListener = Callable[[ReviewRun, BatchHead], None]


def ignore_run(_run: ReviewRun, _head: BatchHead) -> None:
    """Do nothing, for batches whose caller waits for the end."""


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """Stores of batches, their sessions and their runs."""

    store: ReviewStore
    #: Files that models may read.
    files: ReadableFiles
    index: ReviewIndex
    #: Decisions of people about findings.
    decisions: DecisionStore
    pulls: ReviewedPulls
    sessions: SessionStore
    session_index: SessionIndex
    streams: StreamReader
    opener: SessionOpener
    queue: ReviewQueue
    workers: WorkerPresence
    #: Milliseconds for which the live keys of a session are kept after its end.
    retention_ms: int
    #: The archive; None: there is none, and every item is reviewed every time.
    archive: Archive | None = None
    on_run_ended: RunListener = ignore_run


_ATTRIBUTE = "symposia_review_context"


def install_review_context(app: Celery, provider: Callable[[], ReviewContext]) -> None:
    """Set the provider of the review context of an app; it is called once per process, on first use."""
    setattr(app, _ATTRIBUTE, provider)


def review_context_of(app: Celery) -> ReviewContext:
    """Return the review context of this process."""
    provider: Callable[[], ReviewContext] = getattr(app, _ATTRIBUTE)
    return provider()
