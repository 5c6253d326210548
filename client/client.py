"""`Client`, and the functions `submit` and `get_job`, which use the default client of this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from ..config.settings import load_settings, read_variable
from ..models.errors import InvalidInput
from ..state.usage_limits import TenantAccounts, TenantUsage
from .base import current_client
from .building.connection import redis_url_in_use
from .review_comments import ReviewCommentMethods
from .reviews import ReviewMethods

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from ..archive.sessions.reader import ArchiveReader
    from ..evaluation.cases_file import CasesFile
    from ..evaluation.results import EvaluationResult
    from ..evaluation.runner import EvaluationProgress
    from ..memory.long_term import LongTermMemory
    from ..memory.rooms import DialogMemory
    from ..schedules.schedules import Schedules
    from ..state.tokens import TokenStore
    from ..workspace.service import WorkspaceService
    from .building.installation import Installation
    from .webhooks.service import Webhooks


class Client(ReviewCommentMethods, ReviewMethods):
    """One Symposia installation: a Redis, a broker, an archive, and the sessions there.

    A client connects when it is first used. `close`, or the end of a `with` block, closes the connections that it
    opened; each later call on it, and on what it returned, raises ClientClosed. A client may be used by several
    threads.

    Args:
        settings: The settings of the installation. None: those of `app`, or else of this process.
        redis_url: The Redis of the sessions, instead of that of the settings. None: that of the settings.
        app: A Celery app on which Symposia is installed, which sends the tasks; `close` leaves it open. None: the client
            makes one.
        worker_grace_s: Seconds without a running worker before a call that waits logs a warning. Above 0,
            `submit` logs none.
    """

    @property
    def schedules(self) -> Schedules:
        """Schedules: sessions and reviews at set times."""
        return self._parts.schedules

    @property
    def webhooks(self) -> Webhooks:
        """Webhooks: signed events of sessions and reviews to other systems."""
        return self._parts.webhooks

    @property
    def memory(self) -> DialogMemory:
        """Dialog memory: parameters remembered for users, by room."""
        return self._parts.memory

    @property
    def recollections(self) -> LongTermMemory:
        """Long-term memory: texts that later sessions of a user, room or tenant recall."""
        return self._parts.recollections

    @property
    def conversations(self) -> WorkspaceService:
        """Tasks and their conversations. Raises ArchiveError if no archive is configured."""
        return self._parts.conversations

    @property
    def tokens(self) -> TokenStore:
        """Tokens of callers over HTTP."""
        return self._parts.tokens

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

    def evaluate(
        self,
        cases: str | Path | Mapping[str, Any],
        *,
        name: str | None = None,
        on_progress: Callable[[EvaluationProgress], None] | None = None,
    ) -> EvaluationResult:
        """Run an evaluation, and wait for its end. Its programs run in this process's folder and user.

        No run runs twice: the same evaluation again reads the sessions that exist, and submits those that are
        missing.

        Args:
            cases: Path of a cases file, or a table of its fields. Files that a table names are relative to the
                working folder.
            name: Name of the evaluation. Under another name, all runs run again. Default: as in the file.
            on_progress: Called after each run.

        Returns:
            The scores of each run and the figures of each variant.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was submitted.
            ArchiveUnavailable: A session is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer. The same evaluation again continues.
            WaitInTurn: It is called in the turn of an agent.
        """
        from ..evaluation.cases_file import CasesFile

        if not isinstance(cases, str | Path | Mapping):
            raise InvalidInput("cases", cases, "must be the path of a cases file, or a table of its fields")
        root = self.settings.session_root
        if isinstance(cases, Mapping):
            cases_file = CasesFile.of_data(cases, root=root)
        else:
            cases_file = CasesFile.open(str(cases), root=root)
        if name is not None:
            cases_file = cases_file.renamed(name)
        cases_file.check(
            known_agents=self._parts.sessions.workers.known_agents(),
            max_message_bytes=self.settings.max_message_bytes,
        )
        cases_file.check_messages(max_message_bytes=self.settings.max_message_bytes)
        return run_cases(self, cases_file, on_progress=on_progress or (lambda _: None))


def installation_of(client: Client) -> Installation:
    """Return the parts of a client. Only for this package."""
    return client._parts  # noqa: SLF001 - the only access


def run_cases(
    client: Client,
    cases: CasesFile,
    *,
    on_progress: Callable[[EvaluationProgress], None],
    between: Callable[[], None] = lambda: None,
) -> EvaluationResult:
    """Run an evaluation whose sessions were checked; `between` is called about every second, and after each run."""
    from ..evaluation.runner import EvaluationRunner, EvaluationSessions
    from ..evaluation.scoring import ProgramScorer

    sessions = installation_of(client).sessions
    return EvaluationRunner(
        cases.evaluation,
        EvaluationSessions(get=sessions.get, submit=sessions.submit, restore=client.restore),
        ProgramScorer(cases.folder, read_variable),
        on_progress=on_progress,
        between=between,
    ).run()


P = ParamSpec("P")
R = TypeVar("R")


def default_client() -> Client:
    """Return the client with the settings of this process; a new one if another Redis is in use.

    Raises:
        NoRedis: No Redis is configured, and the embedded server of the project does not run.
    """
    current = cast("Client | None", current_client())
    return current or _client_of(redis_url_in_use(load_settings()))


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
