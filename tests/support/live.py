"""Real workers as real processes, and waiting for what they do."""

from __future__ import annotations

import inspect
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Protocol, TypeVar

import psutil
from redis import Redis

from processes.fork_server import start_module
from scaling import patient
from stub_agents import live as live_agents
from symposia.state.presence import WorkerPresence

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
SUPPORT = Path(__file__).parent

REGISTRY = """
[agents.say]
kind = "python"
callable = "stub_agents.live:say"
window = 1000

[agents.gated]
kind = "python"
callable = "stub_agents.live:gated"

[agents.moody]
kind = "python"
callable = "stub_agents.live:moody"

[agents.unspeakable]
kind = "python"
callable = "stub_agents.live:unspeakable"

[agents.misshapen]
kind = "python"
callable = "stub_agents.live:misshapen"

[agents.blind]
kind = "scripted"
replies = [{ fail = "cannot see" }]
window = 0

[agents.lead]
kind = "python"
callable = "stub_agents.live:lead"
window = 1000

[agents.navigator]
kind = "python"
callable = "stub_agents.live:navigator"
window = 1000

[agents.accountant]
kind = "python"
callable = "stub_agents.live:counter"

[agents.claimer]
kind = "python"
callable = "stub_agents.live:claimer"
"""


def until(condition: Callable[[], T], *, timeout_s: float = 40.0, what: str = "") -> T:
    """Polls until the condition is true; gives back what it answered."""
    timeout_s = patient(timeout_s)
    deadline = time.monotonic() + timeout_s
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what or condition}")
        time.sleep(0.02)
    return answer


class Result(Protocol[R_co]):
    """A job whose result can be waited for."""

    def result(self, timeout: float | None = ...) -> R_co: ...


def result_of(job: Result[T], *, timeout_s: float = 40.0) -> T:
    """Return the result of a job, once it has ended.

    Args:
        job: A session, or a review.
        timeout_s: Deadline in seconds, scaled with `patient`.
    """
    return job.result(timeout=patient(timeout_s))


def has_no_message(redis: Redis) -> bool:
    """Return whether no running worker had a message when it announced itself, every five seconds."""
    return not any(worker.taken for worker in WorkerPresence(redis).list_alive())


class LiveWorker:
    """A Celery worker process: started, ready, killed, frozen, stopped."""

    def __init__(
        self,
        name: str,
        folder: Path,
        env: Mapping[str, str],
        *,
        app: str,
        concurrency: int,
        options: Sequence[str] = (),
        path: Sequence[Path] = (),
        code: Path | None = None,
        as_installed: bool = False,
        heartbeat: bool = False,
        neighbours: bool = False,
    ) -> None:
        """Start it.

        `options`: more for Celery's command line; `path`: folders with modules of its app or agents;
        `code`: folder with the code of another version; `as_installed`: not as a fork, so that it has arguments of its
        own and all of its start is that of a user;
        `heartbeat`: Flower learns of a worker from its heartbeats, which no other test needs; `neighbours`: workers learn
        of each other.
        """
        self.log_file = folder / f"{name}.log"
        self._output: IO[bytes] = self.log_file.open("ab")
        arguments = [app, "worker", "--loglevel", "INFO"]
        arguments += ["--concurrency", str(concurrency), "-n", f"{name}@live"]
        arguments += [*([] if neighbours else ["--without-gossip", "--without-mingle"]), *options]
        arguments += [] if heartbeat else ["--without-heartbeat"]
        folders = [code, *path, SUPPORT, os.environ.get("PYTHONPATH")]
        search = os.pathsep.join(str(it) for it in folders if it)
        environment = {**os.environ, **env, "PYTHONPATH": search}
        self.process = start_module(
            "processes.program",
            arguments,
            env=environment,
            cwd=folder,
            output=self._output,
            code=code,
            as_installed=as_installed,
        )

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def lost_connections(self) -> int:
        """Number of lines that report a lost connection to the broker: those of Celery, and of an outage."""
        log = self.log()
        return log.count("Connection to broker lost") + log.count("retrying, with a line a minute")

    def wait_ready(self) -> LiveWorker:
        def ready() -> bool:
            assert self.process.poll() is None, self.log()
            return "ready." in self.log()

        until(ready, timeout_s=40, what=f"worker is ready\n{self.log()}")
        return self

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # the fork server has reaped it, and it has no children
            os.killpg(self.process.pid, number)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self.process.wait(patient(10))

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Ends it at once: a warm shutdown waits a second for the broker to have nothing more to say.

        Its heartbeat process too, which would report the end to the server of the next test.
        """
        if self.process.poll() is None:
            children = []
            with suppress(psutil.NoSuchProcess):
                children = psutil.Process(self.process.pid).children()
            self.kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self._output.close()


def location_of(module: ModuleType, code: str) -> str:
    """Where code of a module of agents is, as errors show it: `stub_agents/live.py:12`."""
    lines = inspect.getsourcelines(module)[0]
    line = next(number for number, it in enumerate(lines, 1) if code in it)
    return f"{module.__name__.replace('.', '/')}.py:{line}"


def mood(number: int) -> str:
    """The error of the agent `moody`."""
    return f"RuntimeError: mood {number} ({location_of(live_agents, 'RuntimeError(f')})"
