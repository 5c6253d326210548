"""A worker, an archive, and a Flower with authentication, which the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from live import REGISTRY, LiveWorker
from servers.dashboard_place import AGENTS, CREDENTIALS, Place
from servers.flower import FlowerServer
from servers.model_stub import StubModel
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.workers.local.embedded import EmbeddedServer


@pytest.fixture(scope="module")
def model() -> Iterator[StubModel]:
    """The server of the agent `model`."""
    with StubModel() as stub:
        yield stub


@pytest.fixture(scope="module")
def shared(model: StubModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The place of a module."""
    folder = tmp_path_factory.mktemp("dashboard")
    (folder / "agents.toml").write_text(REGISTRY + AGENTS.format(url=model.url))
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        settings = {
            "redis_url": server.url,
            "data_dir": str(folder / "data"),
            "agents_file": str(folder / "agents.toml"),
            "archive": "true",
            "sweep_interval_s": "0.2",
            "lease_s": "60",
        }
        environment = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
        worker = LiveWorker("w1", folder, environment, app="symposia.workers", concurrency=8)
        flower = FlowerServer(folder, settings, {"FLOWER_BASIC_AUTH": CREDENTIALS})
        try:
            worker.wait_ready()
            flower.start()
            with Client(load_settings(**settings)) as client:
                yield Place(folder, settings, client, flower)
        finally:
            flower.stop()
            worker.close()
