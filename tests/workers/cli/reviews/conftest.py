"""A terminal whose worker the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker, until
from processes.terminal import Terminal
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.workers.local.embedded import EmbeddedServer

CLEAN = "print('hello')\n"


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal with a Redis, an archive and a worker that the tests of this module share."""
    folder = tmp_path_factory.mktemp("worked")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        settings = {"data_dir": str(folder / "data"), "redis_url": server.url, "archive": "true"}
        settings |= {"sweep_interval_s": "0.2", "redispatch_after_s": "2"}
        (folder / "data").mkdir()
        terminal = Terminal(folder, settings)
        worker = LiveWorker("w1", folder, terminal.environment, app="symposia.workers", concurrency=8)
        until(
            lambda: WorkerPresence(connect(server.url)).list_alive(), timeout_s=40, what="a worker is there"
        )
        yield terminal
        worker.close()
        terminal.close()


@pytest.fixture
def project(worked: Terminal, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own with a clean file in it."""
    folder = worked.folder / request.node.name.partition("[")[0]
    folder.mkdir(exist_ok=True)
    (folder / "clean.py").write_text(CLEAN)
    return folder
