"""A client of the server of a test, whose sessions are audited when the test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from checks import ledger
from symposia.state.redis.connect import connect


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """A client; when the test is over, all sessions it left are audited from their raw keys."""
    with connect(redis_url) as client:
        yield client
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)
