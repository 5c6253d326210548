"""Base class of the client: connections that are opened lazily and closed together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ..config.settings import Settings, load_settings
from ..models.errors import ClientClosed, InvalidInput
from .building.installation import Installation

if TYPE_CHECKING:
    from celery import Celery

    from ..tasks.runtime.graph import TaskGraph


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
        chosen = {} if redis_url is None else {"redis_url": redis_url}
        self.settings = settings or load_settings(**chosen)
        self._installation = Installation(self.settings, app, worker_grace_s=worker_grace_s, graph=graph)
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
        return self._installation
