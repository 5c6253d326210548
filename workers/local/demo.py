"""Services of `symposia demo`: they need no other service on the machine.

A server, two workers and the local model run in a temporary folder. They stop, and the folder
is deleted, even if the demo fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ...agents.registry.registry import DEMO_FILE
from ...client import Client, installation_of
from ...config.settings import load_settings
from .embedded import EmbeddedServer
from .local_runtime import worker_service
from .services import LocalModelService
from .supervisor import Interrupts, SupervisedService, Supervisor

WORKERS = 2
#: Threads per worker.
_CONCURRENCY = 4
#: Seconds a worker may take to end; a kill afterwards loses nothing of value.
_STOP_TIMEOUT_S = 3.0
_POLL_S = 0.05


@contextmanager
def start_demo(*, local_model: bool, say: Callable[[str], None]) -> Iterator[tuple[Client, Supervisor]]:
    """Start the services for as long as the context lasts.

    Args:
        local_model: Also start the local model.
        say: Gets one line per service that is restarted.

    Yields:
        A client, and the supervisor of the services.


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
        services: list[SupervisedService] = [
            worker_service(settings, f"worker{number}", heard=_ignore_output, patience_s=_STOP_TIMEOUT_S)
            for number in range(1, WORKERS + 1)
        ]
        if local_model:
            services.append(LocalModelService(Path(folder)))
        with Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3) as supervisor:
            client = Client(settings)
            while len(installation_of(client).sessions.workers.list_alive()) < WORKERS:
                supervisor.check_services()
                time.sleep(_POLL_S)
            yield client, supervisor


def _ignore_output(_name: str, _line: str) -> None:
    """Ignore the output of workers; if one ends, the supervisor reports its last line."""
