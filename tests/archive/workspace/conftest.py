"""A room with a task-manager, on each database."""

from __future__ import annotations

import pytest

from symposia.archive.archive import Archive
from task_room import TaskRoom


@pytest.fixture
def room(archive: Archive) -> TaskRoom:
    return TaskRoom(archive)
