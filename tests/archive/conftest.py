"""An archive on each database, and sessions to write into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from servers.databases import archive, database_url, postgres, postgres_url
from sessions.archiving_stepper import archiving_stepper
from sessions.stepper import Stepper
from sessions.table import Table
from symposia.state.redis.connect import connect

KEPT_MS = 120_000

__all__ = ["archive", "database_url", "postgres", "postgres_url"]


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def table(client: Redis) -> Table:
    """A session that is queued for the archive."""
    table = Table(client, opened=False)
    table.open(archived=True)
    return table


@pytest.fixture
def stepper(
    redis_url: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stepper]:
    """A client and a runtime with an archive."""
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    monkeypatch.setenv("SYMPOSIA_DATABASE_URL", database_url)
    with archiving_stepper(redis_url, tmp_path) as stepper:
        yield stepper
