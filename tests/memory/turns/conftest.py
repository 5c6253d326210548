"""A real server with dialog memories on it, and a worker whose agents use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from dialog_memory.room import LONG_S, Room, open_room
from live import SUPPORT
from sessions.stepper import Stepper
from symposia.state.redis.connect import connect


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def stepper(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stepper:
    """Sessions whose turns a test runs one by one."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    monkeypatch.setattr("symposia.client.building.memory._MEMORY_TIMEOUT_S", LONG_S)
    return Stepper.on(redis_url, tmp_path)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A worker shared by all tests of a module; each uses its own users."""
    yield from open_room(tmp_path_factory.mktemp("room"))
