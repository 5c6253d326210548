"""Services of `symposia demo`, in a temporary folder; they need no other service on the machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ....client import Client, installation_of
from ....client.embedded import EmbeddedServer
from ....config.settings import load_settings
from ..local_runtime import worker_service
from ..services import LocalModelService
from ..supervisor import Interrupts, SupervisedService, Supervisor
from .sessions import LOCAL, write_agents_file

WORKERS = 2
#: Threads per worker.
_CONCURRENCY = 4
#: Seconds a worker may take to end before it is killed; nothing of value is lost.
_STOP_TIMEOUT_S = 3.0
_POLL_S = 0.05


@contextmanager
def start_demo(agents: str, *, say: Callable[[str], None]) -> Iterator[tuple[Client, Supervisor]]:
    """Start the services of the demo, and stop them at the end of the context.

    Args:
        agents: `recorded`, `local` (which starts the local model, too), or a `provider:model`.
        say: Callback for one line per restarted service.

    Yields:
        A client, and the supervisor of the services.

    Raises:
        StateError, LocalModelError: A service could not be started.
    """
    with (
        Interrupts() as interrupts,
        TemporaryDirectory(prefix="symposia-demo-", ignore_cleanup_errors=True) as folder,
        EmbeddedServer(Path(folder), durable=False, bound=True) as server,
    ):
        agents_file = Path(folder) / "agents.toml"
        write_agents_file(agents_file, agents)
        chosen = {
            "data_dir": folder,
            "agents_file": agents_file,
            "worker_concurrency": _CONCURRENCY,
            "sweep_interval_s": 0.2,
        }
        settings = load_settings(**chosen, redis_url=server.url, broker_url=server.url)
        services: list[SupervisedService] = [
            worker_service(settings, f"worker{number}", heard=_ignore_output, stop_timeout_s=_STOP_TIMEOUT_S)
            for number in range(1, WORKERS + 1)
        ]
        if agents == LOCAL:
            services.append(LocalModelService(Path(folder)))
        with Supervisor(services, interrupts=interrupts, say=say, gives_up_after=3) as supervisor:
            client = Client(settings)
            while len(installation_of(client).sessions.workers.list_alive()) < WORKERS:
                supervisor.check_services()
                time.sleep(_POLL_S)
            yield client, supervisor


def _ignore_output(_name: str, _line: str) -> None:
    """Ignore the output of workers; if one ends, the supervisor reports its last line."""
