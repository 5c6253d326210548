"""Dialog memories on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from checks import ledger
from symposia.memory.rooms import DialogMemory
from symposia.state.redis.connect import connect


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """A client; when the test is over, all sessions it left are audited from their raw keys."""
    with connect(redis_url) as client:
        yield client
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


@pytest.fixture
def memory(client: Redis) -> DialogMemory:
    return DialogMemory(client)
