"""The base of clients: the installation that a client uses, which may be that of a test or of an eager app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

from ..config.settings import Settings, load_settings
from ..models.errors import ClientClosed, InvalidInput
from .building.installation import Installation
from .building.installed import settings_of_app

if TYPE_CHECKING:
    from celery import Celery

    from ..jobs.collab import CollabJob
    from ..models.sessions.submission import Submission
    from .in_process.installation import InProcessInstallation


class InProcessClient(Protocol):
    """A client that runs sessions in this process."""

    _local: InProcessInstallation


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
        settings: The settings of the installation. None: those of `app`, or else of this process.
        redis_url: The Redis of the sessions, instead of that of the settings. None: that of the settings.
        app: A Celery app on which Symposia is installed, which sends the tasks; `close` leaves it open. None: the client
            makes one.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning. Above 0,
            `submit` logs none.
        local: The parts of an installation in this process, in the place of all others.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        redis_url: str | None = None,
        app: Celery | None = None,
        worker_grace_s: float = 0.0,
        local: InProcessInstallation | None = None,
    ) -> None:
        if settings is not None and redis_url is not None:
            raise InvalidInput("redis_url", redis_url, "must not be set together with `settings`")
        if redis_url is not None:
            settings = load_settings(redis_url=redis_url)
        self._app = app
        self._is_local = local is not None
        self._is_closed = False
        if local is not None:
            self.settings: Settings = local.settings
            self._installation: Installation = local
            return
        if app is None:
            self.settings = settings or load_settings()
        else:
            self.settings = settings_of_app(app, settings)
        self._installation = Installation(self.settings, app, worker_grace_s=worker_grace_s)

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
        current = current_client()
        local = self._eager() if current is None else current._local  # noqa: SLF001 - a client, too
        return self._installation if local is None else local

    def _submit(self, submission: Submission) -> CollabJob:
        """Submit a session; with an eager app, wait until it has ended or a person is asked."""
        local = None if self._is_closed else self._eager()
        return self._parts.sessions.submit(submission) if local is None else local.submit_and_wait(submission)

    def _eager(self) -> InProcessInstallation | None:
        """Return the installation of an eager app, which runs sessions in this process; None: workers run them."""
        app = self._app
        if app is None or not app.conf.task_always_eager:
            return None
        if (current := current_client()) is not None:
            return current._local  # noqa: SLF001 - a client, too
        from .in_process.eager import eager_installation

        return eager_installation(app, self.settings)
