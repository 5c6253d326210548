"""`Client`, and the functions `submit` and `get_job`, which use the default client of this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from ..config.settings import load_settings
from ..state.usage_limits import TenantAccounts, TenantUsage
from .building.connection import redis_url_in_use
from .evaluations import EvaluationMethods
from .reviews import ReviewMethods

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from ..archive.sessions.reader import ArchiveReader
    from ..memory.rooms import DialogMemory
    from ..schedules.schedules import Schedules
    from ..workspace.service import WorkspaceService
    from .building.installation import Installation


class Client(EvaluationMethods, ReviewMethods):
    """One Symposia installation: a Redis, a broker, an archive, and the sessions there.

    A client connects when it is first used. `close`, or the end of a `with` block, closes the connections that it
    opened; each later call on it, and on what it returned, raises ClientClosed. A client may be used by several
    threads.

    Args:
        settings: The settings of the installation. None: the settings of this process.
        redis_url: The Redis of the sessions, instead of that of the settings. None: that of the settings.
        app: A Celery app that sends the tasks; `close` leaves it open. None: the client makes one.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning. Above 0,
            `submit` logs none.
    """

    @property
    def schedules(self) -> Schedules:
        """Schedules: sessions and reviews at set times."""
        return self._parts.schedules

    @property
    def memory(self) -> DialogMemory:
        """Dialog memory: parameters remembered for users, by room."""
        return self._parts.memory

    @property
    def conversations(self) -> WorkspaceService:
        """Tasks and their conversations. Raises ArchiveError if no archive is configured."""
        return self._parts.conversations

    @property
    def archive(self) -> Archive | None:
        """Archive of sessions in SQL, or None if no archive is configured."""
        return self._parts.sessions.archive

    @property
    def redis_url(self) -> str:
        """The URL of the Redis in use, with its password. Raises NoRedis without one."""
        return self._parts.sessions.connections.find_redis_url()

    def archived(self) -> ArchiveReader | None:
        """Return the reader of the archive.

        Returns:
            The reader, or None if there is no archive (yet).

        Raises:
            ArchiveUnavailable: The archive does not answer.
        """
        return self._parts.sessions.reader()

    def tenant(self, name: str) -> TenantUsage:
        """Return the usage of a tenant since midnight (UTC), without turns that are running.

        Args:
            name: The tenant.

        Returns:
            Turns, tokens and cost.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return TenantAccounts(self._parts.redis).read_usage_today(name)

    def known_agents(self) -> frozenset[str]:
        """Return the names of the agents that the running workers know. A turn goes to a worker that knows its agent.

        Returns:
            The names. Empty if no worker is running.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self._parts.sessions.workers.known_agents()


def installation_of(client: Client) -> Installation:
    """Return the parts of a client. Only for this package."""
    return client._parts  # noqa: SLF001 - the only access


P = ParamSpec("P")
R = TypeVar("R")


def default_client() -> Client:
    """Return the client with the settings of this process; a new one if another Redis is in use.

    Raises:
        NoRedis: No Redis is configured, and the embedded server of the project does not run.
    """
    return _client_of(redis_url_in_use(load_settings()))


@lru_cache(maxsize=1)
def _client_of(_redis_url: str) -> Client:
    return Client()


def _of_default_client(verb: Callable[Concatenate[Client, P], R]) -> Callable[P, R]:
    """Return a function that calls a method of the default client, with its parameters and documentation."""

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return verb(default_client(), *args, **kwargs)

    shown = inspect.signature(verb)
    call.__signature__ = shown.replace(parameters=list(shown.parameters.values())[1:])  # type: ignore[attr-defined]
    call.__module__, call.__qualname__ = __name__, verb.__name__
    return call


submit = _of_default_client(Client.submit)
get_job = _of_default_client(Client.get_job)
