"""The servers that the container tests need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.databases import postgres, postgres_url
from servers.postgres import own_database

__all__ = ["own_postgres_url", "postgres", "postgres_url"]


@pytest.fixture
def own_postgres_url(postgres_url: str) -> Iterator[str]:
    """An empty database in PostgreSQL."""
    with own_database(postgres_url) as url:
        yield url
