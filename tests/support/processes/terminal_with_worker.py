"""A terminal with a Redis and a worker, which the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from live import LiveWorker, until
from processes.terminal import Terminal
from symposia.client.embedded import EmbeddedServer
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect


@contextmanager
def terminal_with_worker(folder: Path, settings: dict[str, str]) -> Iterator[Terminal]:
    """Yield a terminal with these settings once its worker is there; the Redis is added to them."""
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        terminal = Terminal(folder, {**settings, "redis_url": server.url})
        worker = LiveWorker("w1", folder, terminal.environment, app="symposia.workers", concurrency=8)
        until(
            lambda: WorkerPresence(connect(server.url)).list_alive(), timeout_s=40, what="a worker is there"
        )
        yield terminal
        worker.close()
        terminal.close()
