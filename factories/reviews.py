"""Builders of the review context and of the session opener of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from celery import Celery

from ..config.settings import Settings
from ..reviews.batches.context import ReviewContext, ReviewQueue
from ..reviews.delivery.celery_tasks import deliverer_of
from ..state.redis.readers import StreamReader
from ..state.reviews.queues import ReviewIndex
from ..state.reviews.store import ReviewStore
from ..state.sessions.index import SessionIndex
from ..state.sessions.store import SessionStore
from ..tasks.runtime.graph import TaskGraph
from ..tasks.sessions.opening import SessionOpener
from ..tasks.workspace.task_placement import TaskPlacement

if TYPE_CHECKING:
    from redis import Redis

    from ..archive.archive import Archive


def build_review_context(
    app: Celery, settings: Settings, client: Redis, archive: Archive | None
) -> ReviewContext:
    """Return the review context of a process, which uses these connections."""
    sessions, index = SessionStore(client), SessionIndex(client)
    return ReviewContext(
        store=ReviewStore(client, retention_s=settings.retention_s),
        index=ReviewIndex(client),
        sessions=sessions,
        session_index=index,
        streams=StreamReader(client),
        opener=session_opener(settings, sessions, index, TaskGraph(app), TaskPlacement(lambda: archive)),
        queue=ReviewQueue(app),
        retention_ms=settings.retention_s * 1000,
        archive=archive,
        on_run_ended=lambda run, head: deliverer_of(app).queue_deliveries(run, head),
    )


def session_opener(
    settings: Settings, store: SessionStore, index: SessionIndex, graph: TaskGraph, placing: TaskPlacement
) -> SessionOpener:
    """Return an opener of sessions with the options of the settings."""
    return SessionOpener(
        store=store,
        index=index,
        graph=graph,
        max_turns=settings.max_turns,
        max_message_bytes=settings.max_message_bytes,
        grace_ms=int(settings.redispatch_after_s * 1000),
        archived=settings.archive,
        place=placing,
    )
