"""A room with a task-manager, on each database."""

from __future__ import annotations

import pytest

from servers.databases import archive, database_url
from sessions.task_room import TaskRoom
from symposia.archive.archive import Archive

__all__ = ["archive", "database_url"]


@pytest.fixture
def room(archive: Archive) -> TaskRoom:
    return TaskRoom(archive)
