"""`symposia demo`: a session in each mode on real workers, on a machine that has nothing.

A server, two workers and the local model are started in a temporary folder. They end, and
the folder goes, however the demo ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..agents.registry import DEMO_FILE
from ..client import Client
from ..config.settings import load_settings
from .crew import worker
from .embedded import EmbeddedServer
from .services import Model
from .supervisor import Interrupts, Service, Supervisor

WORKERS = 2
#: Threads of each.
_CONCURRENCY = 4
#: Seconds a worker may take to end: nothing is lost when it is not waited for.
_PATIENCE_S = 3.0
_POLL_S = 0.05


@contextmanager
def demo_stage(*, local_model: bool, say: Callable[[str], None]) -> Iterator[tuple[Client, Supervisor]]:
    """A client of an installation that lasts as long as the context, and who keeps it up.

    Raises:
        StateError, LocalModelError: a part of it could not be started.
    """
    with (
        Interrupts() as interrupts,
        TemporaryDirectory(prefix="symposia-demo-", ignore_cleanup_errors=True) as folder,
        EmbeddedServer(Path(folder), durable=False, bound=True) as server,
    ):
        chosen = {
            "data_dir": folder,
            "agents_file": DEMO_FILE,
            "worker_concurrency": _CONCURRENCY,
            "sweep_interval_s": 0.2,
        }
        settings = load_settings(**chosen, redis_url=server.url, broker_url=server.url)
        services: list[Service] = [
            worker(settings, f"worker{number}", heard=_ignored, patience_s=_PATIENCE_S)
            for number in range(1, WORKERS + 1)
        ]
        if local_model:
            services.append(Model(Path(folder)))
        with Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3) as supervisor:
            client = Client(settings)
            while len(client.workers.alive()) < WORKERS:
                supervisor.tend()
                time.sleep(_POLL_S)
            yield client, supervisor


def _ignored(_name: str, _line: str) -> None:
    """What workers print matters only when they end, and is told then."""
