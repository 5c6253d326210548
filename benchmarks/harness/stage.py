"""The stage: one embedded server and the workers of one setup at a time, ours and those of bare Celery.

Both kinds of workers run at the same time with the same pool and settings, and measure in turn. A setup with other
workers ends these, empties the server and starts its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from redis import Redis

from harness.agents import AGENTS
from harness.bare import Bare, create_plain_app
from harness.errors import BenchmarkError
from symposia.client import Client
from symposia.client.building.app import create_app
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import end_process
from symposia.config.settings import Settings, child_environment, load_settings
from symposia.state.redis.connect import connect
from symposia.state.sessions.archiving import ArchiveQueue

FOLDER = Path(__file__).parents[1]
#: Seconds after which a condition that does not come true ends the case.
PATIENCE_S = 600.0
#: Seconds for the start of all workers of a setup.
START_S = 180.0


@dataclass(frozen=True)
class Setup:
    """Workers of one kind: pool, threads or child processes of each, number of workers, options."""

    pool: str = "threads"
    concurrency: int = 8
    workers: int = 1
    events: bool = True
    archive: bool = True
    sweep_interval_s: float = 1
    archive_interval_s: float = 5


def wait_until(condition: Callable[[], object], what: str, *, timeout_s: float = PATIENCE_S) -> None:
    """Poll until the condition is true.

    Raises:
        BenchmarkError: It was not in time.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise BenchmarkError(f"not within {timeout_s:.0f} s: {what}")
        time.sleep(0.005)


class Place:
    """The running workers of one setup, and the clients that give them work."""

    def __init__(self, setup: Setup, settings: Settings, server_pid: int, folder: Path) -> None:
        self.setup = setup
        self.settings = settings
        self.client = Client(settings)
        self.redis = connect(self.client.redis_url)
        self.bare = Bare(create_plain_app(settings), self.redis)
        self.leaner = Bare(create_app(settings), self.redis)
        self.archive_queue = ArchiveQueue(self.redis)
        self._server = psutil.Process(server_pid)
        self.workers = {
            kind: [self._start(kind, number, folder) for number in range(setup.workers)]
            for kind in ("app", "plain")
        }

    def _start(self, kind: str, number: int, folder: Path) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
        environment = {
            **child_environment(self.settings),
            "PYTHONPATH": path,
            "BENCH_EVENTS": "on" if self.setup.events else "off",
        }
        name = f"{kind}{number}"
        command = [sys.executable, "-m", "celery", "-A", f"harness.worker_apps:{kind}", "worker"]
        command += ["--loglevel", "WARNING", "-n", f"{name}@bench"]
        command += ["-P", self.setup.pool, "-c", str(self.setup.concurrency)]
        with (folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)

    def wait_ready(self) -> None:
        """Wait until every worker answers."""
        expected = 2 * self.setup.workers
        control = self.bare.app.control
        wait_until(
            lambda: self._alive() and len(control.ping(timeout=1.0)) >= expected,
            f"{expected} workers answer",
            timeout_s=START_S,
        )

    def _alive(self) -> bool:
        dead = [worker for side in self.workers.values() for worker in side if worker.poll() is not None]
        if dead:
            raise BenchmarkError(
                f"a worker with the pool {self.setup.pool} ended: exit code {dead[0].poll()}"
            )
        return True

    def unfinished(self) -> int:
        """Return the number of sessions that have not ended."""
        return self.client._installation.sessions.connections.index.unfinished()

    def worker_cpu(self, kind: str) -> float:
        """Return the processor seconds of the workers of one kind (`app`, `plain`), with their children."""
        roots = [psutil.Process(worker.pid) for worker in self.workers[kind]]
        return sum(_cpu(process) for root in roots for process in (root, *root.children(recursive=True)))

    def server_cpu(self) -> float:
        """Return the processor seconds of the server."""
        return _cpu(self._server)

    def close(self) -> None:
        """End the workers and close the connections."""
        processes = [worker for side in self.workers.values() for worker in side]
        for process in processes:
            process.terminate()
        for process in processes:
            end_process(process, timeout_s=20)
        self.client.close()
        self.bare.app.close()
        self.leaner.app.close()
        self.redis.close()


def _cpu(process: psutil.Process) -> float:
    return sum(process.cpu_times()[:2])


class Stage:
    """One server, and the place of the setup that was used last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "agents.toml").write_text(AGENTS)
        self._server = EmbeddedServer(folder / "server", bound=True)
        self._server.start()
        self._place: Place | None = None
        self._count = 0

    def use(self, setup: Setup, warm_up: Callable[[Place], None]) -> Place:
        """Return the running place of a setup; start it if another one was used last."""
        if self._place is not None and self._place.setup == setup:
            return self._place
        self.leave()
        self._count += 1
        folder = self._folder / f"place-{self._count}"
        folder.mkdir()
        settings = load_settings(
            redis_url=self._server.url,
            broker_url=None,
            database_url=None,
            agents_file=self._folder / "agents.toml",
            data_dir=folder,
            archive=setup.archive,
            sweep_interval_s=setup.sweep_interval_s,
            archive_interval_s=setup.archive_interval_s,
            worker_concurrency=setup.concurrency,
        )
        self._place = Place(setup, settings, self._server.pid or 0, folder)
        self._place.wait_ready()
        warm_up(self._place)
        return self._place

    def connect(self) -> Redis:
        """Return a client of the server."""
        return connect(self._server.url)

    def leave(self) -> None:
        """End the workers of the place and empty the server."""
        if self._place is not None:
            self._place.redis.flushall()
            self._place.close()
        self._place = None
        with self.connect() as client:
            client.flushall()

    def close(self) -> None:
        """End everything."""
        if self._place is not None:
            self._place.close()
        self._server.stop()
