"""A room with a task-manager, on each database. Databases are made once, and emptied for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from servers.databases import postgres, postgres_url
from servers.postgres import own_database
from sessions.task_room import TaskRoom
from symposia.archive.archive import Archive
from symposia.workspace.sql.store import deliver_to_conversation

__all__ = ["postgres", "postgres_url"]


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def shared_archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Archive]:
    if request.param == "sqlite":
        archive = Archive(
            f"sqlite:///{tmp_path_factory.mktemp('archive') / 'archive.sqlite3'}",
            deliver_to_conversation,
        )
        archive.prepare()
        yield archive
        archive.close()
        return
    with own_database(request.getfixturevalue("postgres_url")) as url:
        archive = Archive(url, deliver_to_conversation)
        archive.prepare()
        yield archive
        archive.close()


@pytest.fixture
def archive(shared_archive: Archive) -> Archive:
    """An empty database of either kind."""
    with shared_archive.database.writing() as connection:
        for table in ("task", "collab"):
            connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608 - constants
    return shared_archive


@pytest.fixture
def room(archive: Archive) -> TaskRoom:
    return TaskRoom(archive)
