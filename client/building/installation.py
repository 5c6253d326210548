"""The parts of an installation that a client uses.

The parts are opened lazily and closed together. A part is imported when it is opened: a program that reads
sessions needs no queue, no reviews and no workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from ...config.settings import Settings
from ...state.redis.connect import connect
from .sessions import Sessions

if TYPE_CHECKING:
    from celery import Celery

    from ...memory.long_term import LongTermMemory
    from ...memory.rooms import DialogMemory
    from ...reviews.batches.context import ReviewContext
    from ...schedules.schedule import Schedule
    from ...schedules.schedules import Schedules
    from ...state.presence import WorkerPresence
    from ...state.tokens import TokenStore
    from ...tasks.runtime.graph import TaskGraph
    from ...workspace.service import WorkspaceService
    from ..webhooks.service import Webhooks


class Installation:
    """The parts of one installation that a client uses.

    Args:
        settings: The settings of the installation.
        app: A Celery app that sends the tasks. None: one of its own, which `close` closes.
        worker_grace_s, graph: As in `Sessions`.
    """

    def __init__(
        self,
        settings: Settings,
        app: Celery | None,
        *,
        worker_grace_s: float = 0.0,
        graph: TaskGraph | None = None,
    ) -> None:
        self.settings = settings
        self._opened = ExitStack()
        # Without a reference to this object: its connections must close when its last reference is gone.
        self._find_app = _app_finder(settings, self._opened) if app is None else lambda: app
        self.sessions = Sessions(settings, self._find_app, worker_grace_s=worker_grace_s, graph=graph)
        self._opened.callback(self.sessions.close)
        self.redis = self.sessions.connections.redis

    @cached_property
    def schedules(self) -> Schedules:
        """The schedules."""
        from ...schedules.schedules import Schedules
        from ...schedules.store import ScheduleStore, send_schedule_task

        return Schedules(
            ScheduleStore(self.redis),
            partial(send_schedule_task, self._find_app),
            partial(_check_schedule, workers=self.sessions.workers),
        )

    @cached_property
    def webhooks(self) -> Webhooks:
        """The webhooks."""
        from ...state.hooks import HookQueue
        from ...state.webhooks import WebhookStore
        from ..webhooks.service import Webhooks
        from ..webhooks.webhooks_file import follow_webhooks

        return Webhooks(follow_webhooks(self.settings), WebhookStore(self.redis), HookQueue(self.redis))

    @cached_property
    def memory(self) -> DialogMemory:
        """The dialog memory."""
        from .memory import dialog_memory, memory_url

        client = connect(memory_url(self.settings), retries=1)
        self._opened.callback(client.close)
        return dialog_memory(self.settings, client, sessions=self.redis)

    @cached_property
    def recollections(self) -> LongTermMemory:
        """The long-term memory."""
        from .memory import long_term_memory

        return long_term_memory(self.settings, self.redis, lambda: self.sessions.archive)

    @cached_property
    def tokens(self) -> TokenStore:
        """Tokens of callers over HTTP."""
        from ...state.tokens import TokenStore

        return TokenStore(self.redis)

    @cached_property
    def reviews(self) -> ReviewContext:
        """Services that run reviews."""
        from .reviews import build_review_context

        return build_review_context(self._find_app, self.settings, self.redis, self.sessions.archive)

    @cached_property
    def conversations(self) -> WorkspaceService:
        """Tasks and conversations. Raises ArchiveError without an archive."""
        from .workspace import open_conversations

        return open_conversations(self.settings, self.sessions.archive, opened=self._opened)

    def close(self) -> None:
        """Close all connections that were opened here. A second call does nothing."""
        self._opened.close()


def _check_schedule(schedule: Schedule, workers: WorkerPresence) -> None:
    """Refuse a schedule with names that are not known. Raises InvalidInput, UnknownAgent."""
    from ...reviews.reports.formats import format_of
    from ...schedules.schedules import check_names

    for name in () if schedule.review is None else schedule.review.formats:
        format_of(name, field="review.formats")
    check_names(schedule, workers)


def _app_finder(settings: Settings, opened: ExitStack) -> Callable[[], Celery]:
    """Return a function that creates the Celery app on its first call; `opened` closes its connections.

    Raises:
        InvalidInput: Celery has no transport for the configured broker.
    """
    if settings.broker_url is not None:
        from .broker import broker_url_in_use

        broker_url_in_use(settings)  # before anything is written

    # A stack of its own: `opened` refers to the sessions, and they refer to this function.
    connections = opened.enter_context(ExitStack())

    @cache
    def find_app() -> Celery:
        from .app import create_client_app

        return create_client_app(settings, connections)

    return find_app
