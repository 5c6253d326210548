"""A real server, a session on it, and what must be true of every session once a test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

import ledger
from symposia.state.connect import connect
from symposia.state.index import SessionIndex
from table import Table


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """A client; when the test is over, all sessions it left are audited from their raw keys."""
    with connect(redis_url) as client:
        yield client
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


@pytest.fixture
def table(client: Redis) -> Table:
    return Table(client)


@pytest.fixture
def index(client: Redis) -> SessionIndex:
    return SessionIndex(client)
