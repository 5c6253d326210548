"""A real Flower with the dashboard, and a real worker, on one real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live import REGISTRY, LiveWorker
from servers.flower import FlowerServer
from symposia.client import Client
from symposia.config.settings import load_settings

#: Starts a Flower: environment variables, options, and other fields of `FlowerServer`.
StartFlower = Callable[..., FlowerServer]
CREDENTIALS = "ann:as-long-as-it-is-secret"


@pytest.fixture
def settings(tmp_path: Path, redis_url: str) -> dict[str, str]:
    """Settings of all processes of a test."""
    (tmp_path / "registry.toml").write_text(REGISTRY)
    return {
        "redis_url": redis_url,
        "data_dir": str(tmp_path / "data"),
        "agents_file": str(tmp_path / "registry.toml"),
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
    }


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
        server.stop()


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
    worker = LiveWorker("w1", tmp_path, environment, app="symposia.workers", concurrency=4)
    yield worker.wait_ready()
    worker.close()
