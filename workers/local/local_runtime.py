"""Local runtime: the missing services of a session, started and supervised while they are needed.

The processes of one data folder share an embedded server: the first process starts it, the last one ends it.
Each process that uses the server holds a shared lock on the file `users`. The kernel releases the lock
however the process ends. So a process that leaves and gets the exclusive lock was the last one. Other
processes never end the server of `symposia up`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from ...agents.registry.registry import Registry
from ...client import Client, installation_of
from ...client.building.broker import broker_url_in_use, check_broker
from ...client.building.connection import ServerRecord, find_embedded_server, redis_url_in_use, server_folder
from ...client.building.runtime import load_registry
from ...client.embedded import EmbeddedServer, open_private, reap_detached, try_lock
from ...config.settings import METRICS_PORT, Settings, child_environment
from ...models.errors import EmbeddedServerError, RegistryError
from ...models.sessions.agent_queues import consumed_queues
from ...models.sessions.submission import Submission
from ...models.text.paths import make_private_folder
from ...state.presence import SILENT_MS
from ...state.redis.connect import check_reachable, connect
from .fork_server import ForkServer
from .services import LocalModelService, ProcessService, worker_command
from .supervisor import Interrupts, ShutdownFlag, SupervisedService, Supervisor

_POLL_S = 0.02
#: Seconds the server may take to end before it is killed.
_STOP_TIMEOUT_S = 10.0


@contextmanager
def shared_server(data_dir: Path) -> Iterator[str]:
    """Yield the URL of the server, which runs at least as long as the context. Raises EmbeddedServerError."""
    server = EmbeddedServer(data_dir, shared=True)
    try:
        with using_server(data_dir):
            yield server.start()
    finally:
        server.detach()


@contextmanager
def using_server(data_dir: Path) -> Iterator[None]:
    """Keep a shared server running, also one that starts later. Raises EmbeddedServerError."""
    folder = server_folder(data_dir)
    try:
        make_private_folder(folder)
        users = open_private(folder / "users")
    except OSError as error:
        raise EmbeddedServerError(f"the embedded server in {folder} cannot be used: {error}") from error
    with users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield
        finally:
            # The lock is held until the server has ended. Processes that come in the meantime wait, and start
            # another server.
            if try_lock(users):
                _end(data_dir)


def _end(data_dir: Path) -> None:
    record = ServerRecord.read(data_dir)
    if record is None or not record.shared or find_embedded_server(data_dir) != record.url:
        return
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    with suppress(ProcessLookupError), open_private(server_folder(data_dir) / "lock") as lock:
        os.kill(record.pid, signal.SIGTERM)
        while not try_lock(lock):  # the server holds its lock while it runs
            if time.monotonic() > deadline:
                os.kill(record.pid, signal.SIGKILL)
            time.sleep(_POLL_S)
    reap_detached()


#: Callback for the output of programs: name of the program, and one line.
OutputHandler = Callable[[str, str], None]

#: Seconds between two checks for running workers. A killed worker is noticed after 30 s.
_LOOK_EVERY_S = 5.0
#: Milliseconds without an announcement after which a wait is reported: workers announce themselves every 5 s.
_QUIET_MS = 12_000

#: Seconds within which a worker that was started here should announce itself.
_START_S = 30.0


def with_server(settings: Settings, url: str) -> Settings:
    """Return the settings with the Redis server at `url`."""
    return settings.model_copy(update={"redis_url": SecretStr(url)})


def configured_server(settings: Settings) -> str | None:
    """Return the configured Redis URL, if any.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    if settings.redis_url is None:
        return None
    url = settings.redis_url.get_secret_value()
    with connect(url, retries=0) as client:
        check_reachable(client, url)
    return url


def _all_queues(settings: Settings) -> str | None:
    """Return the queues of the agents file with the common one: a local worker runs all turns. None: only that one."""
    try:
        queues = load_registry(settings).queues().values()
    except RegistryError:  # the worker reports it
        return None
    return consumed_queues(settings.queue, sorted(set(queues)), takes_common=True) if queues else None


def worker_service(
    settings: Settings,
    name: str,
    *,
    heard: OutputHandler,
    stop_timeout_s: float | None = None,
    folder: Path | None = None,
    fork_server: ForkServer | None = None,
) -> ProcessService:
    """Return a Celery worker as a child process.

    `heard` is called with its name and each line of its output. It serves no metrics, because several such
    workers cannot share the configured port; Flower has the same metrics.
    """
    environment = child_environment(settings)
    environment.pop(METRICS_PORT, None)
    return ProcessService(
        name,
        worker_command(
            name=f"{name}@%h", queues=_all_queues(settings), loglevel=settings.log_level, banner=False
        ),
        environment=environment,
        heard=lambda line: heard(name, line),
        stop_timeout_s=stop_timeout_s,
        folder=folder,
        fork_server=fork_server,
    )


def needs_local_model(registry: Registry, submission: Submission) -> bool:
    """Return whether an agent of a prepared submission uses the local model."""
    policies = (submission.policy, *submission.policies.values())
    named = {*submission.agents_in_use(), *(policy.substitute for policy in policies if policy.substitute)}
    needed = registry.needed_by(named)
    return any(name in needed for name in registry.names_on_local_model())


class LocalRuntime:
    """Supervision of the services that were started for a session, with a worker if none is running.

    Args:
        client: Client of the installation in use.
        supervisor: Supervisor of the services.
        hire: Function that creates the worker; called at most once.
        say: Callback for one line, when the worker is awaited that does not announce itself any more.
        shutdown_flag: Shutdown flag, set by a second signal.
        redis_url: Redis in use.
    """

    def __init__(
        self,
        client: Client,
        supervisor: Supervisor,
        *,
        redis_url: str,
        hire: Callable[[], SupervisedService],
        say: Callable[[str], None],
        shutdown_flag: ShutdownFlag,
    ) -> None:
        self.client = client
        self.redis_url = redis_url
        self.shutdown_flag = shutdown_flag
        self._supervisor = supervisor
        self._make_worker: Callable[[], SupervisedService] | None = hire
        self._say: Callable[[str], None] | None = say
        self._next_look = 0.0

    def check_services(self) -> None:
        """Restart services that ended, and start a worker if none is running.

        It returns at once if the last check is recent.

        Raises:
            ServiceEnded: A service ended too often.
        """
        self._supervisor.check_services()
        if self._make_worker is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        workers = installation_of(self.client).sessions.workers.list_alive()
        if not workers:
            self._supervisor.add_service(self._make_worker())
            self._make_worker = None
        elif (age_ms := min(worker.age_ms for worker in workers)) > _QUIET_MS and self._say is not None:
            since = f"No worker has announced itself for {age_ms // 1_000} seconds"
            self._say(f"{since}; after {SILENT_MS // 1_000} seconds, one is started for this run.")
            self._say = None


@contextmanager
def start_local_runtime(
    settings: Settings,
    *,
    local_model: bool,
    say: Callable[[str], None],
    heard: OutputHandler,
    folder: Path | None = None,
) -> Iterator[LocalRuntime]:
    """Start the missing services of a session, and stop them at the end of the context.

    Args:
        settings: Settings; without a Redis URL the embedded server is started, or found running.
        local_model: Whether the local model is needed.
        say: Callback for one line per started service.
        heard: Callback for the output of the worker.
        folder: Working folder of the worker, with its code and its agents file; None: that of this process.

    Yields:
        The local runtime.

    Raises:
        StateError, BrokerUnavailable, LocalModelError: A part could not be started or does not answer.
    """
    with Interrupts() as interrupts, ExitStack() as stack:
        url = configured_server(settings) or stack.enter_context(shared_server(settings.data_dir))
        settings = with_server(settings, url)
        if settings.broker_url is not None:
            # Without this check, a missing broker would stop all progress without an error.
            check_broker(broker_url_in_use(settings))
        # Starting a missing worker takes time.
        client = Client(settings, worker_grace_s=_START_S)

        def hire() -> SupervisedService:
            say("No worker is running; starting one for this run.")
            return worker_service(
                settings, f"run-{time.time_ns() // 1_000_000:x}", heard=heard, folder=folder
            )

        services: list[SupervisedService] = [LocalModelService(settings.data_dir)] if local_model else []
        supervisor = Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3)
        yield LocalRuntime(
            client,
            stack.enter_context(supervisor),
            redis_url=redis_url_in_use(settings),
            hire=hire,
            say=say,
            shutdown_flag=interrupts.shutdown_flag,
        )
