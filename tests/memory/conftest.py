"""Dialog memories on a real server."""

from __future__ import annotations

import pytest
from redis import Redis

from checks.audited import client
from symposia.memory.rooms import DialogMemory

__all__ = ["client"]


@pytest.fixture
def memory(client: Redis) -> DialogMemory:
    return DialogMemory(client)
