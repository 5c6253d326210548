"""Dialog memories on a real server."""

from __future__ import annotations

import pytest
from redis import Redis

from symposia.state.memory.rooms import DialogMemory


@pytest.fixture
def memory(client: Redis) -> DialogMemory:
    return DialogMemory(client)
