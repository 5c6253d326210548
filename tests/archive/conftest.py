"""An archive on each database, and sessions to put into it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from databases import archive, database_url, postgres, postgres_url
from symposia.state.connect import connect
from table import Table

KEPT_MS = 120_000

__all__ = ["archive", "database_url", "postgres", "postgres_url"]


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def table(client: Redis) -> Table:
    """A session that is owed to an archive."""
    table = Table(client, opened=False)
    table.open(archived=True)
    return table
