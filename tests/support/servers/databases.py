"""An archive on each database: fixtures for the conftest of an area that needs one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.postgres import MISSING, NAMED, Postgres, own_database, own_postgres, programs
from symposia.archive.archive import Archive
from symposia.workspace.sql.store import deliver_to_conversation


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL of the tests' own, which they may stop and start."""
    found = programs()
    if found is None:
        pytest.skip(MISSING)
    with own_postgres(found) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """A PostgreSQL: the named one, or one of the tests' own."""
    named = os.environ.get(NAMED)
    url: str = named or request.getfixturevalue("postgres").url
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of either kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'archive.sqlite3'}"
        return
    with own_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
def archive(database_url: str) -> Iterator[Archive]:
    archive = Archive(database_url, deliver_to_conversation)
    archive.prepare()
    yield archive
    archive.close()
