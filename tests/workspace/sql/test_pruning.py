"""What the archive forgets of tasks: those that ended long ago, with all that belongs to them, and no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis
from sqlalchemy import func, select

from sessions.task_room import ANN, APP, BEN, CHAIR, TaskRoom
from symposia.archive.archive import Archive
from symposia.archive.tables import DIALOG, MESSAGE
from symposia.client.pruning import Pruned, prune
from symposia.models.errors import NotAMember, TaskRejectedError
from symposia.state.redis.connect import connect
from symposia.workspace.sql.changes import TaskPruner
from symposia.workspace.sql.tables import CONVERSATION, MEMBER, TASK, TASK_PARTICIPANT

TABLES = (TASK, TASK_PARTICIPANT, CONVERSATION, MEMBER, DIALOG, MESSAGE)


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


def rows(archive: Archive) -> list[int]:
    with archive.database.reading() as connection:
        return [connection.execute(select(func.count()).select_from(it)).scalar_one() for it in TABLES]


def test_ended_tasks_are_pruned_after_a_dry_run(room: TaskRoom, client: Redis) -> None:
    for _ in range(3):
        conversation = room.conversation(ANN, BEN)
        room.workspace.send(ANN, conversation.id, "Blue?")
        room.workspace.send(BEN, conversation.id, "Green.")
        room.workspace.task_close(CHAIR, conversation.task_id)
    room.verdict(lambda _request: False)
    with pytest.raises(TaskRejectedError):
        room.workspace.request_task(APP, ANN)
    ended_ms, before = room.clock.now_ms, rows(room.archive)
    assert prune(room.archive, client, before_ms=ended_ms) == Pruned()
    assert prune(room.archive, client, user="42") == Pruned()
    expected = Pruned(tasks=4, messages=6)
    assert prune(room.archive, client, before_ms=ended_ms + 1, dry_run=True) == expected
    assert rows(room.archive) == before
    assert prune(room.archive, client, before_ms=ended_ms + 1) == expected
    assert rows(room.archive) == [0] * len(TABLES)
    with pytest.raises(NotAMember):
        room.workspace.history(ANN, conversation.id)


def test_open_and_later_tasks_are_kept(room: TaskRoom, client: Redis) -> None:
    closed, later = room.conversation(ANN), room.conversation(ANN)
    waiting = room.conversation(ANN)
    room.workspace.archive(CHAIR, waiting.id)
    room.workspace.task_close(CHAIR, closed.task_id)
    room.clock.now_ms += 1_000
    room.workspace.send(ANN, later.id, "I stay.")
    room.workspace.task_close(CHAIR, later.task_id)
    assert prune(room.archive, client, before_ms=room.clock.now_ms).tasks == 1
    assert {it.id for it in room.workspace.task_list(ANN).items} == {later.task_id, waiting.task_id}
    assert room.said(later) == ["I stay."]


def test_more_tasks_than_one_batch_are_pruned(room: TaskRoom, client: Redis) -> None:
    for _ in range(5):
        room.workspace.task_close(CHAIR, room.task(BEN).id)
    some = TaskPruner(room.archive.database).find(before_ms=room.clock.now_ms + 1, limit=2)
    rest = TaskPruner(room.archive.database).find(before_ms=room.clock.now_ms + 1, after_row=some[-1].task_id)
    assert (len(some), len(rest)) == (2, 3)
    assert prune(room.archive, client, before_ms=room.clock.now_ms + 1).tasks == 5
