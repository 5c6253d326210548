"""Local runtime: missing services of a session, run while they are needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import SecretStr

from ...agents.registry.registry import Registry
from ...client import Client, installation_of
from ...config.settings import Settings, child_environment
from ...factories.connection import broker_url_in_use, check_broker
from ...models.sessions.submission import Submission
from ...state.redis.connect import check_reachable, connect
from .server_references import shared_server
from .services import LocalModelService, ProcessService, worker_command
from .supervisor import Interrupts, ShutdownFlag, SupervisedService, Supervisor

#: Gets the name of a program and each line that it prints.
OutputHandler = Callable[[str, str], None]

#: Seconds between two checks for running workers. A killed worker is noticed after 30 s.
_LOOK_EVERY_S = 5.0

#: Seconds within which a worker that was started here should announce itself.
_START_S = 30.0


def with_server(settings: Settings, url: str) -> Settings:
    """Return the settings with the Redis server at `url`."""
    return settings.model_copy(update={"redis_url": SecretStr(url)})


def configured_server(settings: Settings) -> str | None:
    """Return the configured Redis URL, if any. Raises RedisUnavailable if it does not answer."""
    if settings.redis_url is None:
        return None
    url = settings.redis_url.get_secret_value()
    with connect(url, retries=0) as client:
        check_reachable(client, url)
    return url


def worker_service(
    settings: Settings,
    name: str,
    *,
    heard: OutputHandler,
    patience_s: float | None = None,
    folder: Path | None = None,
) -> ProcessService:
    """Return a Celery worker as a child process. `heard` gets its name and every line that it prints."""
    return ProcessService(
        name,
        worker_command(name=f"{name}@%h", banner=False),
        environment=child_environment(settings),
        heard=lambda line: heard(name, line),
        patience_s=patience_s,
        folder=folder,
    )


def needs_local_model(registry: Registry, submission: Submission) -> bool:
    """Return True if an agent of a prepared submission uses the local model."""
    policies = (submission.policy, *submission.policies.values())
    named = {it.agent for it in submission.agents.values()} | {it.substitute for it in policies}
    return any(name in named for name in registry.names_on_local_model())


class LocalRuntime:
    """Keeps up what was started for a session, and hires a worker when there is none.

    Args:
        client: of the installation that is used.
        supervisor: keeps the services.
        hire: makes the worker, once.
        hurry: set by a signal after the one that interrupted.
    """

    def __init__(
        self,
        client: Client,
        supervisor: Supervisor,
        *,
        hire: Callable[[], SupervisedService],
        hurry: ShutdownFlag,
    ) -> None:
        self.client = client
        self.shutdown_flag = hurry
        self._supervisor = supervisor
        self._make_worker: Callable[[], SupervisedService] | None = hire
        self._next_look = 0.0

    def check_services(self) -> None:
        """Look after everything. May be called as often as one likes. Raises ServiceEnded."""
        self._supervisor.check_services()
        if self._make_worker is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        if not installation_of(self.client).sessions.workers.list_alive():
            self._supervisor.add_service(self._make_worker())
            self._make_worker = None


@contextmanager
def start_local_runtime(
    settings: Settings,
    *,
    local_model: bool,
    say: Callable[[str], None],
    heard: OutputHandler,
    folder: Path | None = None,
) -> Iterator[LocalRuntime]:
    """All that a session needs and that is not there yet, for as long as the context lasts.

    Args:
        settings: without a Redis URL the embedded server is started, or found running.
        local_model: whether the local model is needed.
        say: Gets one line per service that is started.
        heard: is given what the worker prints.
        folder: where the worker runs, and finds code and an agents file; None: the working folder.

    Raises:
        StateError, BrokerUnavailable, LocalModelError: a part could not be started or does not answer.
    """
    with Interrupts() as interrupts, ExitStack() as stack:
        url = configured_server(settings) or stack.enter_context(shared_server(settings.data_dir))
        settings = with_server(settings, url)
        if (
            settings.broker_url is not None
        ):  # otherwise a missing broker would stop all progress without an error
            check_broker(broker_url_in_use(settings))
        # A missing worker is started, which takes time.
        client = Client(settings, worker_grace_s=_START_S)

        def hire() -> SupervisedService:
            say("No worker is running; starting one for this run.")
            return worker_service(
                settings, f"run-{time.time_ns() // 1_000_000:x}", heard=heard, folder=folder
            )

        services: list[SupervisedService] = [LocalModelService(settings.data_dir)] if local_model else []
        supervisor = Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3)
        yield LocalRuntime(client, stack.enter_context(supervisor), hire=hire, hurry=interrupts.shutdown_flag)
