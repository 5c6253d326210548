"""An installation for each test: a real server, and the agents of the tests; `shared` has the worker of the module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checks.expiry import wrong_keys
from live import until
from review_tools.fixture import AGENTS, ReviewInstallation
from servers.model_stub import StubModel
from symposia.client.embedded import EmbeddedServer


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[ReviewInstallation]:
    (tmp_path / "agents.toml").write_text(AGENTS)
    installation = ReviewInstallation(tmp_path, redis_url)
    yield installation
    installation.close()


@pytest.fixture(scope="module")
def shared_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewInstallation]:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "agents.toml").write_text(AGENTS)
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        # Nobody dies here: the lease is long, as one that is lost would be asked for again.
        installation = ReviewInstallation(folder, server.url, lease_s=60)
        installation.start_worker()
        yield installation
        installation.close()


@pytest.fixture
def shared(shared_installation: ReviewInstallation) -> Iterator[ReviewInstallation]:
    """An installation with a worker that neither the test stops nor another; its folder has no file of a test before."""
    for name in ("calls.txt", "gate", "repaired"):
        (shared_installation.folder / name).unlink(missing_ok=True)
    yield replace(shared_installation, workers=[])
    (shared_installation.folder / "gate").touch()  # what waits there goes on, and the worker is free
    until(lambda: not wrong_keys(shared_installation.redis_url), what="the keys of ended sessions expire")


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub
