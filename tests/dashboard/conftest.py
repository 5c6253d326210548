"""A real Flower with the dashboard, and a real worker, on one real server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from live import REGISTRY, LiveWorker
from servers.dashboard import AGENTS, CREDENTIALS, Dashboard
from servers.flower import FlowerServer
from servers.model_stub import StubModel
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings

#: Starts a Flower: environment variables, options, and other fields of `FlowerServer`.
StartFlower = Callable[..., FlowerServer]


def settings_of(folder: Path, redis_url: str) -> dict[str, str]:
    """The settings of all processes."""
    (folder / "registry.toml").write_text(REGISTRY)
    return {
        "redis_url": redis_url,
        "data_dir": str(folder / "data"),
        "agents_file": str(folder / "registry.toml"),
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
    }


@pytest.fixture(scope="package")
def model() -> Iterator[StubModel]:
    """The server of the agent `model`."""
    with StubModel() as stub:
        yield stub


@pytest.fixture(scope="package")
def dashboard(model: StubModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """One server, worker and Flower for all modules: a test looks for sessions by its own titles and ids.

    Its tests run in one process one after another, so that they start once.
    """
    folder = tmp_path_factory.mktemp("dashboard")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server, ExitStack() as stack:
        settings = settings_of(folder, server.url) | {
            "archive": "true",
            "archive_interval_s": "0.2",
            "lease_s": "60",
        }
        (folder / "registry.toml").write_text(REGISTRY + AGENTS.format(url=model.url))
        environment = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
        worker = LiveWorker("w1", folder, environment, app="symposia.workers", concurrency=8, heartbeat=True)
        stack.callback(worker.close)
        flower = FlowerServer(folder, settings, {"FLOWER_BASIC_AUTH": CREDENTIALS}, credentials=CREDENTIALS)
        stack.callback(flower.kill)
        flower.start()
        worker.wait_ready()
        yield Dashboard(folder, settings, stack.enter_context(Client(load_settings(**settings))), flower)


@pytest.fixture
def settings(tmp_path: Path, redis_url: str) -> dict[str, str]:
    """Settings of all processes of a test."""
    return settings_of(tmp_path, redis_url)


@pytest.fixture
def start_flower(tmp_path: Path, settings: dict[str, str]) -> Iterator[StartFlower]:
    """Starts Flower processes with these settings; they are gone after the test."""
    started: list[FlowerServer] = []

    def start(*options: str, environment: dict[str, str] | None = None, **more: object) -> FlowerServer:
        server = FlowerServer(tmp_path, settings, environment or {}, options=options, **more)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def flower(start_flower: StartFlower) -> FlowerServer:
    """A Flower without authentication: pages, and no actions."""
    return start_flower()


@pytest.fixture
def guarded(start_flower: StartFlower) -> FlowerServer:
    """A Flower with basic authentication (`CREDENTIALS`), so with actions."""
    return start_flower(environment={"FLOWER_BASIC_AUTH": CREDENTIALS})


@pytest.fixture
def client(settings: dict[str, str]) -> Iterator[Client]:
    """A client with the same settings."""
    with Client(load_settings(**settings)) as client:
        yield client


@pytest.fixture
def worker(tmp_path: Path, settings: dict[str, str]) -> Iterator[LiveWorker]:
    """A worker with the agents of the tests."""
    environment = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
    worker = LiveWorker("w1", tmp_path, environment, app="symposia.workers", concurrency=4, heartbeat=True)
    yield worker.wait_ready()
    worker.close()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The folder for pictures: `make screenshots` keeps them."""
    return Path(os.environ.get("SYMPOSIA_TEST_SCREENSHOTS", tmp_path))
