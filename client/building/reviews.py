"""Builder of the review context, from the settings.

Separate from `app.py`, because that imports Celery, and a program that only reads reviews needs no queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ...config.settings import Settings
from ...models.errors import RedisUnavailable, SymposiaError
from ...reviews.batches.context import ReviewContext, ReviewQueue
from ...reviews.state.decisions import DecisionStore
from ...reviews.state.queues import ReviewIndex
from ...reviews.state.readable_files import ReadableFiles
from ...reviews.state.reviewed_pulls import ReviewedPulls
from ...reviews.state.store import ReviewStore
from ...state.presence import WorkerPresence
from ...state.redis.readers import StreamReader
from ...state.sessions.index import SessionIndex
from ...state.sessions.store import SessionStore
from ...tasks.runtime.graph import TaskGraph
from ...workspace.placement import TaskPlacement
from .sessions import session_opener

if TYPE_CHECKING:
    from celery import Celery
    from redis import Redis

    from ...archive.archive import Archive
    from ...reviews.state.records import BatchHead
    from ...reviews.values.runs import ReviewRun
    from ..webhooks.events import WebhookEvents

log = logging.getLogger(__name__)


def build_review_context(
    find_app: Callable[[], Celery], settings: Settings, client: Redis, archive: Archive | None
) -> ReviewContext:
    """Return the review context of a process, which uses these connections.

    Args:
        find_app: Returns the Celery app that sends the tasks; called when the first one is sent.
        settings: The settings of the installation.
        client: Redis of the sessions.
        archive: The archive; None: none is configured.
    """

    def queue_deliveries(run: ReviewRun, head: BatchHead) -> None:
        from ...reviews.celery_tasks import deliverer_of

        deliverer_of(find_app()).queue_deliveries(run, head)
        try:
            events().review_ended(run)
        except RedisUnavailable:  # the batch stays, and another worker ends it
            raise
        except SymposiaError as error:
            log.error("the end of review %s is not sent to webhooks: %s", run.id, error)

    @cache
    def events() -> WebhookEvents:
        from .webhooks import webhook_events

        return webhook_events(settings, client)

    sessions, index = SessionStore(client), SessionIndex(client)
    return ReviewContext(
        store=ReviewStore(client, retention_s=settings.retention_s),
        files=ReadableFiles(client),
        index=ReviewIndex(client),
        decisions=DecisionStore(client),
        pulls=ReviewedPulls(client),
        sessions=sessions,
        session_index=index,
        streams=StreamReader(client),
        opener=session_opener(settings, sessions, index, TaskGraph(find_app), TaskPlacement(lambda: archive)),
        queue=ReviewQueue(find_app),
        workers=WorkerPresence(client),
        retention_ms=settings.retention_s * 1000,
        archive=archive,
        on_run_ended=queue_deliveries,
    )
