"""The parts of an installation that a client uses, and the base of clients.

The parts are opened lazily and closed together. A part is imported when it is opened: a program that reads
sessions needs no queue, no reviews and no workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self, cast

from ...config.settings import Settings, load_settings
from ...models.errors import ClientClosed, InvalidInput
from ...state.redis.connect import connect
from .sessions import Sessions

if TYPE_CHECKING:
    from celery import Celery

    from ...jobs.collab import CollabJob
    from ...memory.long_term import LongTermMemory
    from ...memory.rooms import DialogMemory
    from ...models.sessions.submission import Submission
    from ...reviews.batches.context import ReviewContext
    from ...schedules.schedule import Schedule
    from ...schedules.schedules import Schedules
    from ...state.presence import WorkerPresence
    from ...tasks.runtime.graph import TaskGraph
    from ...workspace.service import WorkspaceService


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
        self._settings = settings
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
    def memory(self) -> DialogMemory:
        """The dialog memory."""
        from .memory import dialog_memory, memory_url

        client = connect(memory_url(self._settings), retries=1)
        self._opened.callback(client.close)
        return dialog_memory(self._settings, client, sessions=self.redis)

    @cached_property
    def recollections(self) -> LongTermMemory:
        """The long-term memory."""
        from .memory import long_term_memory

        return long_term_memory(self._settings, self.redis, lambda: self.sessions.archive)

    @cached_property
    def reviews(self) -> ReviewContext:
        """Services that run reviews."""
        from .reviews import build_review_context

        return build_review_context(self._find_app, self._settings, self.redis, self.sessions.archive)

    @cached_property
    def conversations(self) -> WorkspaceService:
        """Tasks and conversations. Raises ArchiveError without an archive."""
        from .workspace import open_conversations

        return open_conversations(self._settings, self.sessions.archive, opened=self._opened)

    def close(self) -> None:
        """Close all connections that were opened here. A second call does nothing."""
        self._opened.close()


class InProcessClient(Protocol):
    """A client that runs sessions in this process."""

    _installation: Installation

    def submit_and_wait(self, submission: Submission) -> CollabJob:
        """Submit a session, and wait until it has ended or a person is asked."""
        ...


_current: InProcessClient | None = None


def current_client() -> InProcessClient | None:
    """Return the client that runs the sessions of all clients; None: each client uses its own installation."""
    return _current


@contextmanager
def run_all_sessions(client: InProcessClient) -> Iterator[None]:
    """Run the sessions of all clients of this process on `client`, those of earlier clients too: for tests.

    In all threads and event loops, because the code under test may use others.
    """
    global _current  # noqa: PLW0603 - one for the process
    before, _current = _current, client
    try:
        yield
    finally:
        _current = before


class BaseClient:
    """The connections of a client.

    Args:
        settings: The settings of the installation. None: the settings of this process.
        redis_url: The Redis of the sessions, instead of that of the settings. None: that of the settings.
        app: A Celery app that sends the tasks; `close` leaves it open. None: the client makes one.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning. Above 0,
            `submit` logs none.
        graph: Dispatch of the turns; None: as tasks of the Celery app.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        redis_url: str | None = None,
        app: Celery | None = None,
        worker_grace_s: float = 0.0,
        graph: TaskGraph | None = None,
    ) -> None:
        if settings is not None and redis_url is not None:
            raise InvalidInput("redis_url", redis_url, "must not be set together with `settings`")
        if redis_url is not None:
            settings = load_settings(redis_url=redis_url)
        self.settings = (settings or load_settings()) if app is None else _settings_with(app, settings)
        self._installation = Installation(self.settings, app, worker_grace_s=worker_grace_s, graph=graph)
        self._app = app
        self._is_local = graph is not None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that the client opened. A second call does nothing."""
        self._is_closed = True
        self._installation.close()

    @property
    def _parts(self) -> Installation:
        if self._is_closed:
            raise ClientClosed
        if self._is_local:
            return self._installation
        local = current_client() or self._eager_client()
        return self._installation if local is None else local._installation  # noqa: SLF001 - a client, too

    def _submit(self, submission: Submission) -> CollabJob:
        """Submit a session; with an eager app, wait until it has ended or a person is asked."""
        local = None if self._is_closed else self._eager_client()
        return self._parts.sessions.submit(submission) if local is None else local.submit_and_wait(submission)

    def _eager_client(self) -> InProcessClient | None:
        """Return the client that runs sessions in this process; None: workers run them."""
        app = self._app
        if app is None or not app.conf.task_always_eager:
            return None
        if (current := current_client()) is not None:
            return current
        # By its name: the client in this process is built from this module.
        local = import_module("symposia.client.local.eager").eager_client(app, self.settings)
        return cast("InProcessClient", local)


def _settings_with(app: Celery, given: Settings | None) -> Settings:
    """Return the given settings, else those of the app; it is prepared if Symposia is installed on it."""
    from .installed import is_installed, settings_of_app

    if given is not None and not is_installed(app):
        return given
    own = settings_of_app(app)
    return given or own


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
