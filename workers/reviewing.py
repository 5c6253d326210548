"""What workers have to do with batch reviews: the office that brings them forward, and a thread that looks for what got lost."""

from __future__ import annotations

from typing import Any

from celery import Celery

from ..config.settings import Settings
from ..reviews.batch import sweep_batches
from ..reviews.delivery.tasks import courier_of
from ..reviews.office import Office, office_of
from ..reviews.queue import ReviewQueue
from ..state.connect import connect
from ..state.index import SessionIndex
from ..state.review_index import ReviewIndex
from ..state.reviews import ReviewStore
from ..state.store import SessionStore
from ..state.streams import StreamReader
from ..tasks.graph import TaskGraph
from ..tasks.opening import SessionOpener
from .archive import open_archive
from .conversations import placing
from .rounds import RoundStep, RoundThread


def build_office(app: Celery, settings: Settings, *, redis_url: str) -> Office:
    """The office of a process. Connects lazily."""
    client = connect(redis_url)
    sessions, index = SessionStore(client), SessionIndex(client)
    return Office(
        store=ReviewStore(client, retention_s=settings.retention_s),
        index=ReviewIndex(client),
        sessions=sessions,
        session_index=index,
        streams=StreamReader(client),
        opener=session_opener(settings, sessions, index, TaskGraph(app)),
        queue=ReviewQueue(app),
        retention_ms=settings.retention_s * 1000,
        archive=open_archive(settings),
        tell=lambda run, head: courier_of(app).note(run, head),
    )


def session_opener(
    settings: Settings, store: SessionStore, index: SessionIndex, graph: TaskGraph
) -> SessionOpener:
    """Opens sessions as the settings say."""
    return SessionOpener(
        store=store,
        index=index,
        graph=graph,
        max_turns=settings.max_turns,
        max_message_bytes=settings.max_message_bytes,
        grace_ms=int(settings.redispatch_after_s * 1000),
        archived=settings.archive,
        place=placing(settings),
    )


class ReviewStep(RoundStep):
    """Sends word of batches that nobody looks at, as long as the worker runs."""

    what = "reviews"

    def rounds(self, worker: Any) -> RoundThread:
        """Looks for them."""
        return self.every_sweep(worker, lambda: sweep_batches(office_of(worker.app)))
