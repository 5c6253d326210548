"""A room with a task-manager, on each database."""

from __future__ import annotations

import pytest

from sessions.task_room import TaskRoom
from symposia.archive.archive import Archive


@pytest.fixture
def room(archive: Archive) -> TaskRoom:
    return TaskRoom(archive)
