"""Notifications of agents: after the change, best effort, capped, and with a time to live."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from sessions.task_room import ANN, APP, BEN, CHAIR, CYD, EVE, NOTHING, TaskRoom
from symposia.archive.archive import Archive
from symposia.models.errors import InvalidInput, TaskRejectedError
from symposia.models.text.ids import moment_from_ms
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import notifications_key
from symposia.workspace.notifications import KEPT, KEPT_MS, NotificationStreams
from symposia.workspace.values.task import Notification, NotificationKind


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def told(archive: Archive, client: Redis) -> TaskRoom:
    """A room whose agents get notifications."""
    return TaskRoom(archive, NotificationStreams(client))


class Ear:
    """Reads the notifications of an agent from now on."""

    def __init__(self, room: TaskRoom, agent: str) -> None:
        self._room, self._agent = room, agent
        self._after = "0"
        self.heard()

    def heard(self) -> list[tuple[str, str | None, str | None]]:
        """Return kind, subject and actor of the notifications since the last call."""
        found = self._room.workspace.notices(self._agent, after=self._after)
        self._after = found[-1].cursor if found else self._after
        return [(it.notice.kind.value, it.notice.agent, it.notice.by) for it in found]


def test_accepted_task_notifies_all_participants(told: TaskRoom) -> None:
    made = told.workspace.request_task(APP, ANN, [BEN, CYD], {"participants": [ANN, BEN]})
    created, opened = ("task.created", None, ANN), ("conversation.created", None, ANN)
    assert [Ear(told, agent).heard() for agent in (ANN, EVE)] == [[], []]
    for agent, heard in ((ANN, [created, opened]), (CHAIR, [created, opened]), (CYD, [created]), (EVE, [])):
        notices = [it.notice for it in told.workspace.notices(agent)]
        assert [(it.kind.value, it.agent, it.by) for it in notices] == heard
        assert {it.task_id for it in notices} <= {made.task.id}
    assert told.workspace.notices(BEN)[1].notice.to_wire() == {
        "kind": "conversation.created",
        "taskId": made.task.id,
        "conversationId": made.conversation.id,
        "by": ANN,
        "at": "2027-01-15T08:00:00.000Z",
    }


def test_every_change_notifies_once(told: TaskRoom) -> None:
    conversation = told.conversation(ANN, BEN)
    workspace, task_id = told.workspace, conversation.task_id
    ann, cyd, chair = (Ear(told, agent) for agent in (ANN, CYD, CHAIR))
    for _ in range(2):
        workspace.archive(CHAIR, conversation.id)
    for _ in range(2):
        workspace.unarchive(CHAIR, conversation.id)
    for _ in range(2):
        workspace.participants_add(CHAIR, conversation.id, [CYD])
    for _ in range(2):
        workspace.participants_remove(CHAIR, conversation.id, [CYD, EVE])
    about_cyd = [
        ("conversation.participant.added", CYD, CHAIR),
        ("conversation.participant.removed", CYD, CHAIR),
    ]
    shelved = [("conversation.archived", None, CHAIR), ("conversation.unarchived", None, CHAIR)]
    assert ann.heard() == chair.heard() == shelved + about_cyd
    assert cyd.heard() == about_cyd
    for _ in range(2):
        workspace.task_add_participant(CHAIR, task_id, EVE)
        workspace.task_remove_participant(CHAIR, task_id, EVE)
    workspace.task_leave(CYD, task_id)
    for _ in range(2):
        workspace.task_close(CHAIR, task_id)
    eves = [("task.participant.added", EVE, CHAIR), ("task.participant.removed", EVE, CHAIR)]
    left = [("task.participant.removed", CYD, CYD)]
    assert ann.heard() == [*eves * 2, *left, ("task.closed", None, CHAIR)]
    assert cyd.heard() == [*eves * 2, *left]


def test_new_name_notifies_once(told: TaskRoom) -> None:
    conversation = told.conversation(ANN, BEN)
    ann, cyd, chair = (Ear(told, agent) for agent in (ANN, CYD, CHAIR))
    for _ in range(2):
        told.workspace.conversation_update(CHAIR, conversation.id, name="New")
    assert ann.heard() == chair.heard() == [("conversation.updated", None, CHAIR)]
    assert cyd.heard() == []


def test_messages_do_not_notify(told: TaskRoom) -> None:
    conversation = told.conversation(ANN, BEN)
    ben = Ear(told, BEN)
    told.workspace.send(ANN, conversation.id, "hello")
    assert ben.heard() == []


def test_rejection_and_last_leave_notify(told: TaskRoom) -> None:
    ann, ben = Ear(told, ANN), Ear(told, BEN)
    told.verdict(lambda _: False)
    with pytest.raises(TaskRejectedError):
        told.workspace.request_task(APP, ANN, [BEN])
    assert ann.heard() == ben.heard() == [("task.failed", None, None)]
    told.verdict(lambda _: True)
    task = told.workspace.request_task(APP, ANN).task
    ann.heard()
    told.workspace.task_leave(ANN, task.id)
    assert ann.heard() == [("task.participant.removed", ANN, ANN), ("task.closed", None, ANN)]


def test_reader_continues_after_its_cursor_in_pages(told: TaskRoom) -> None:
    for _ in range(3):
        told.task(BEN)
    first = told.workspace.notices(BEN, limit=2)
    rest = told.workspace.notices(BEN, after=first[-1].cursor)
    assert [*first, *rest] == told.workspace.notices(BEN)
    assert (len(first), len(rest)) == (2, 1)
    for cursor in ("", "x", "1-", "-", "1-2-3"):
        with pytest.raises(InvalidInput, match="cursor: must be the cursor of a notification, or 0"):
            told.workspace.notices(BEN, after=cursor)


def test_a_stream_is_capped_and_expires(client: Redis) -> None:
    board = NotificationStreams(client)
    at = moment_from_ms(0)
    for _ in range(KEPT + 300):
        board.publish([ANN], Notification(kind=NotificationKind.TASK_CREATED, task_id=NOTHING, at=at))
    assert KEPT <= client.xlen(notifications_key(ANN)) < KEPT + 200
    assert 0 < client.pttl(notifications_key(ANN)) <= KEPT_MS


def test_redis_outage_undoes_no_change(archive: Archive) -> None:
    with connect("redis://127.0.0.1:1", retries=0) as client:
        room = TaskRoom(archive, NotificationStreams(client))
        conversation = room.conversation(ANN)
        assert room.workspace.archive(CHAIR, conversation.id).archived_at is not None


def test_notification_key_is_of_the_agent() -> None:
    assert notifications_key(ANN) == "symposia:notices:ann"
