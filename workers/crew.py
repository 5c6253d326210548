"""What a session needs to run, put together for as long as somebody needs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import SecretStr

from ..agents.registry import Registry
from ..client import Client
from ..config.settings import Settings, child_environment
from ..models.submission import Submission
from ..state.connect import check_reachable, connect
from .connection import broker_url_in_use, check_broker
from .hurry import Hurry
from .services import Model, Program, worker_command
from .sharing import shared_server
from .supervisor import Interrupts, Service, Supervisor

#: What a program prints, by its name.
Heard = Callable[[str, str], None]

#: Seconds between two looks whether any worker is there. One that was killed is missed after 30 s.
_LOOK_EVERY_S = 5.0

#: Seconds after which a worker that was started here should have announced itself.
_START_S = 30.0


def with_server(settings: Settings, url: str) -> Settings:
    """The settings of those who use the server at `url`."""
    return settings.model_copy(update={"redis_url": SecretStr(url)})


def configured_server(settings: Settings) -> str | None:
    """The Redis that is configured, if one is. Raises RedisUnavailable when it does not answer."""
    if settings.redis_url is None:
        return None
    url = settings.redis_url.get_secret_value()
    with connect(url, retries=0) as client:
        check_reachable(client, url)
    return url


def worker(
    settings: Settings,
    name: str,
    *,
    heard: Heard,
    patience_s: float | None = None,
    folder: Path | None = None,
) -> Program:
    """A Celery worker as a program of its own. `heard` is given its name and every line it prints."""
    return Program(
        name,
        worker_command(name=f"{name}@%h", banner=False),
        environment=child_environment(settings),
        heard=lambda line: heard(name, line),
        patience_s=patience_s,
        folder=folder,
    )


def needs_local_model(registry: Registry, submission: Submission) -> bool:
    """Whether one of the agents of a prepared submission speaks with the local model."""
    policies = (submission.policy, *submission.policies.values())
    named = {it.agent for it in submission.agents.values()} | {it.substitute for it in policies}
    return any(name in named for name in registry.on_local_model())


class Crew:
    """Keeps up what was started for a session, and hires a worker when there is none.

    Args:
        client: of the installation that is used.
        supervisor: keeps the services.
        hire: makes the worker, once.
        hurry: set by a signal after the one that interrupted.
    """

    def __init__(
        self, client: Client, supervisor: Supervisor, *, hire: Callable[[], Service], hurry: Hurry
    ) -> None:
        self.client = client
        self.hurry = hurry
        self._supervisor = supervisor
        self._hire: Callable[[], Service] | None = hire
        self._next_look = 0.0

    def tend(self) -> None:
        """Look after everything. May be called as often as one likes. Raises ServiceEnded."""
        self._supervisor.tend()
        if self._hire is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        if not self.client.workers.alive():
            self._supervisor.add(self._hire())
            self._hire = None


@contextmanager
def crew_for_a_run(
    settings: Settings,
    *,
    local_model: bool,
    say: Callable[[str], None],
    heard: Heard,
    folder: Path | None = None,
) -> Iterator[Crew]:
    """All that a session needs and that is not there yet, for as long as the context lasts.

    Args:
        settings: without a Redis URL the embedded server is started, or found running.
        local_model: whether the local model is needed.
        say: is told what is started.
        heard: is given what the worker prints.
        folder: where the worker runs, and finds code and an agents file; None: the working folder.

    Raises:
        StateError, BrokerUnavailable, LocalModelError: a part could not be started or does not answer.
    """
    with Interrupts() as interrupts, ExitStack() as stack:
        url = configured_server(settings) or stack.enter_context(shared_server(settings.data_dir))
        settings = with_server(settings, url)
        if settings.broker_url is not None:  # without one nothing would happen, and nobody would say why
            check_broker(broker_url_in_use(settings))
        # A worker that is missing is started, which takes a while.
        client = Client(settings, worker_grace_s=_START_S)

        def hire() -> Service:
            say("No worker is running: one is started for this run.")
            return worker(settings, f"run-{time.time_ns() // 1_000_000:x}", heard=heard, folder=folder)

        services: list[Service] = [Model(settings.data_dir)] if local_model else []
        supervisor = Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3)
        yield Crew(client, stack.enter_context(supervisor), hire=hire, hurry=interrupts.hurry)
