"""The rules of tasks, conversations and members, each with its error."""

from __future__ import annotations

import pytest

from sessions.task_room import ANN, APP, BEN, CHAIR, CYD, EVE, TaskRoom
from symposia.models.errors import (
    ConversationFullError,
    InvalidInput,
    NotAMember,
    ParticipantNotAdmittedError,
    TaskClosedError,
)
from symposia.models.protocol.dialog import DialogStatus
from symposia.models.text.ids import moment_from_ms, new_id
from symposia.workspace.values.task import TaskStatus


def test_conversation_has_only_admitted_participants(room: TaskRoom) -> None:
    task = room.task(BEN, CYD)
    made = room.desk.conversation_create(
        CHAIR, task.id, [CYD, ANN, CYD], name="N", metadata={"tags": [{"a": "b"}]}
    )
    assert (made.task_id, made.agents, made.name, made.created_by) == (task.id, (ANN, CYD), "N", CHAIR)
    assert made.metadata.to_wire() == {"tags": [{"a": "b"}]}
    assert (made.archived_at, made.last_message_timestamp) == (None, None)
    with pytest.raises(ParticipantNotAdmittedError) as caught:
        room.desk.conversation_create(CHAIR, task.id, [ANN, EVE, "mal"])
    assert (caught.value.task_id, caught.value.agents) == (task.id, (EVE, "mal"))


def test_conversation_dialog_has_its_id_and_thread(room: TaskRoom) -> None:
    conversation = room.conversation()
    with room.archive.database.reading() as connection:
        rows = connection.exec_driver_sql(
            "SELECT conversation, dialog_id, thread_id, status FROM dialog"
        ).all()
    assert [tuple(it) for it in rows] == [
        (conversation.id, conversation.id, conversation.task_id, DialogStatus.ACTIVE)
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": ""}, "name: "),
        ({"name": "x" * 101}, "name: "),
        ({"name": 5}, "name: "),
        ({"metadata": {"tags": [{"a": 1}]}}, "metadata.tags"),
        ({"metadata": {"kind": "dm"}}, "metadata.kind: is not a known field"),
    ],
)
def test_conversation_fields_are_checked(room: TaskRoom, more, said: str) -> None:
    conversation = room.conversation()
    for call, target in (
        (room.desk.conversation_create, conversation.task_id),
        (room.desk.conversation_update, conversation.id),
    ):
        with pytest.raises(InvalidInput, match=f"^{said}"):
            call(CHAIR, target, **more)
    assert [it.id for it in room.desk.conversation_list(ANN).items] == [conversation.id]
    assert room.desk.conversation_get(ANN, conversation.id) == conversation


def test_members_of_a_conversation_are_a_list(room: TaskRoom) -> None:
    with pytest.raises(InvalidInput, match=r"^participants: "):
        room.desk.conversation_create(CHAIR, room.task().id, ANN)


def test_name_and_tags_change_separately(room: TaskRoom) -> None:
    tags, others = {"tags": [{"kind": "door"}]}, {"tags": [{"kind": "roof"}, {"a": "b"}]}
    made = room.desk.conversation_create(CHAIR, room.task().id, [ANN, BEN], name="Old", metadata=tags)
    room.clock.now_ms += 5

    def changed(**what) -> tuple[str | None, object]:
        after = room.desk.conversation_update(CHAIR, made.id, **what)
        assert after == room.desk.conversation_get(ANN, made.id)
        (summary,) = room.desk.conversation_list(BEN).items
        assert (summary.name, summary.metadata) == (after.name, after.metadata)
        return after.name, after.metadata and after.metadata.to_wire()

    assert changed(name="New") == ("New", tags)
    assert changed(metadata=others) == ("New", others)
    assert changed(name=None) == (None, others)
    assert changed(name="Newer", metadata=None) == ("Newer", None)
    updated = room.desk.conversation_get(ANN, made.id).updated_at
    assert updated == moment_from_ms(room.clock.now_ms)
    room.clock.now_ms += 5
    assert changed() == changed(name="Newer") == ("Newer", None)
    assert room.desk.conversation_get(ANN, made.id).updated_at == updated, "nothing changed"


def test_an_archived_conversation_may_be_renamed(room: TaskRoom) -> None:
    conversation = room.conversation()
    archived = room.desk.archive(CHAIR, conversation.id)
    after = room.desk.conversation_update(CHAIR, conversation.id, name="New")
    assert (after.name, after.archived_at) == ("New", archived.archived_at)
    room.desk.task_close(CHAIR, conversation.task_id)
    with pytest.raises(TaskClosedError):
        room.desk.conversation_update(CHAIR, conversation.id, name="Newer")


def test_name_may_have_a_hundred_characters(room: TaskRoom) -> None:
    assert room.desk.conversation_create(CHAIR, room.task().id, [ANN], name="x" * 100).name == "x" * 100


def test_conversation_has_at_most_256_members(room: TaskRoom) -> None:
    names = [f"a{number:03}" for number in range(257)]
    task = room.task(*names)
    with pytest.raises(ConversationFullError):
        room.desk.conversation_create(CHAIR, task.id, names)
    full = room.desk.conversation_create(CHAIR, task.id, names[:256])
    assert room.desk.participants_add(CHAIR, full.id, names[:9]).agents == tuple(names[:256])
    with pytest.raises(ConversationFullError, match="is full: it can have at most 256 members"):
        room.desk.participants_add(CHAIR, full.id, names[256:])
    room.desk.participants_remove(CHAIR, full.id, names[:1])
    assert len(room.desk.participants_add(CHAIR, full.id, names[256:]).agents) == 256


def test_second_archiving_keeps_the_first_timestamp(room: TaskRoom) -> None:
    conversation = room.conversation()
    first = room.desk.archive(CHAIR, conversation.id)
    room.clock.now_ms += 5
    again = room.desk.archive(CHAIR, conversation.id)
    assert again.archived_at == first.archived_at == moment_from_ms(room.clock.now_ms - 5)
    assert again.dialog_status is DialogStatus.PAUSED
    for _ in range(2):
        back = room.desk.unarchive(CHAIR, conversation.id)
        assert (back.archived_at, back.dialog_status) == (None, DialogStatus.ACTIVE)
    room.clock.now_ms += 5
    assert room.desk.archive(CHAIR, conversation.id).archived_at == moment_from_ms(room.clock.now_ms)


def test_add_and_remove_member_are_idempotent(room: TaskRoom) -> None:
    conversation = room.conversation(ANN)
    for _ in range(2):
        assert room.desk.participants_add(CHAIR, conversation.id, [BEN, ANN]).agents == (ANN, BEN)
    for _ in range(2):
        assert room.desk.participants_remove(CHAIR, conversation.id, [BEN, EVE]).agents == (ANN,)
    with pytest.raises(ParticipantNotAdmittedError):
        room.desk.participants_add(CHAIR, conversation.id, [BEN, EVE])
    assert room.desk.conversation_get(ANN, conversation.id).agents == (ANN,)


def test_returning_member_keeps_its_read_position(room: TaskRoom) -> None:
    conversation = room.conversation()
    for text in ("one", "two"):
        room.desk.send(ANN, conversation.id, text)
    assert room.desk.mark_read(BEN, conversation.id) == 0
    room.desk.participants_remove(CHAIR, conversation.id, [BEN])
    room.desk.send(ANN, conversation.id, "three")
    room.desk.participants_add(CHAIR, conversation.id, [BEN])
    (summary,) = room.desk.conversation_list(BEN).items
    assert summary.unread_count == 1


def test_closing_a_task_archives_its_conversations(
    room: TaskRoom,
) -> None:
    task = room.task(BEN)
    early, late = (room.conversation(task=task) for _ in range(2))
    first = room.desk.archive(CHAIR, early.id)
    elsewhere = room.conversation()
    room.clock.now_ms += 7
    closed = room.desk.task_close(CHAIR, task.id)
    assert (closed.status, closed.ended_at) == (TaskStatus.CLOSED, moment_from_ms(room.clock.now_ms))
    early, late = (room.desk.conversation_get(ANN, it.id) for it in (early, late))
    assert (early.archived_at, late.archived_at) == (first.archived_at, closed.ended_at)
    assert early.dialog_status is late.dialog_status is DialogStatus.COMPLETED
    assert room.desk.conversation_get(ANN, elsewhere.id).archived_at is None
    room.clock.now_ms += 7
    assert room.desk.task_close(CHAIR, task.id) == closed, "once is enough"


def test_a_closed_task_takes_no_changes(room: TaskRoom) -> None:
    conversation = room.conversation()
    task_id, desk = conversation.task_id, room.desk
    desk.task_close(CHAIR, task_id)
    changes = (
        lambda: desk.conversation_create(CHAIR, task_id, [ANN]),
        lambda: desk.unarchive(CHAIR, conversation.id),
        lambda: desk.participants_add(CHAIR, conversation.id, [CYD]),
        lambda: desk.task_add_participant(CHAIR, task_id, EVE),
        lambda: desk.task_remove_participant(CHAIR, task_id, ANN),
        lambda: desk.send(ANN, conversation.id, "hello"),
    )
    for change in changes:
        with pytest.raises(TaskClosedError, match="is closed: only an active task"):
            change()


def test_waiting_or_failed_task_takes_no_changes(room: TaskRoom) -> None:
    def judge(request) -> bool:
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.desk.conversation_create(CHAIR, request.task_id, [ANN])
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.desk.task_close(CHAIR, request.task_id)
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.desk.task_add_participant(CHAIR, request.task_id, EVE)
        return True

    room.verdict(judge)
    assert room.task().status is TaskStatus.ACTIVE


def test_later_participant_may_become_a_member(room: TaskRoom) -> None:
    conversation = room.conversation()
    for _ in range(2):
        assert room.desk.task_add_participant(CHAIR, conversation.task_id, EVE).agents == (ANN, BEN, CYD, EVE)
    assert EVE in room.desk.participants_add(CHAIR, conversation.id, [EVE]).agents


def test_removed_participant_leaves_all_conversations(room: TaskRoom) -> None:
    task = room.task(BEN)
    here, there = (room.conversation(task=task) for _ in range(2))
    elsewhere = room.conversation()
    for _ in range(2):
        assert room.desk.task_remove_participant(CHAIR, task.id, BEN).agents == (ANN,)
    assert [it.id for it in room.desk.conversation_list(BEN).items] == [elsewhere.id]
    for conversation in (here, there):
        assert room.desk.conversation_get(ANN, conversation.id).agents == (ANN,)
        with pytest.raises(NotAMember):
            room.desk.send(BEN, conversation.id, "hello?")
    with pytest.raises(ParticipantNotAdmittedError):
        room.desk.participants_add(CHAIR, here.id, [BEN])


def test_the_last_to_leave_closes_the_task(room: TaskRoom) -> None:
    task = room.task(BEN)
    conversation = room.conversation(task=task)
    left = room.desk.task_leave(ANN, task.id)
    assert (left.status, left.agents) == (TaskStatus.ACTIVE, (BEN,))
    assert room.desk.conversation_get(BEN, conversation.id).agents == (BEN,)
    assert room.desk.task_leave(ANN, task.id) is None, "it has left: no error"
    room.clock.now_ms += 3
    closed = room.desk.task_leave(BEN, task.id)
    assert (closed.status, closed.agents) == (TaskStatus.CLOSED, ())
    assert closed.ended_at == moment_from_ms(room.clock.now_ms)
    assert room.desk.task_list(ANN).items == ()
    with pytest.raises(TaskClosedError):
        room.desk.participants_add(CHAIR, conversation.id, [])


def test_tasks_are_listed_newest_first_page_by_page(room: TaskRoom) -> None:
    made = []
    for number in range(5):
        made.append(room.task(BEN))
        room.clock.now_ms += number % 2  # some at the same time
    seen = room.pages(room.desk.task_list, BEN, limit=2)
    assert seen == sorted(made, key=lambda it: (-it.created_at.timestamp(), it.id))
    assert [it.id for it in room.desk.task_list(CHAIR).items] == [it.id for it in seen], "the manager's, too"
    assert room.desk.task_list(CYD).items == ()


def test_agent_ids_are_names_or_uuids_in_any_case(room: TaskRoom) -> None:
    agent = new_id()
    task = room.task(agent.upper())
    assert task.agents == tuple(sorted((ANN, agent)))
    conversation = room.conversation(agent, ANN, task=task)
    assert room.desk.send(agent.upper(), conversation.id.upper(), "hello").sender == agent


@pytest.mark.parametrize("limit", [0, 101, "7", True, None])
def test_a_page_has_from_1_to_100_rows(room: TaskRoom, limit) -> None:
    conversation = room.conversation()
    for read in (
        lambda: room.desk.task_list(ANN, limit=limit),
        lambda: room.desk.conversation_list(ANN, limit=limit),
        lambda: room.desk.history(ANN, conversation.id, limit=limit),
    ):
        with pytest.raises(InvalidInput, match=r"^limit: must be from 1 to 100"):
            read()


@pytest.mark.parametrize("cursor", ["", "x", "eyJhIjogMX0", "WzFd", "W10", "bnVsbA", "WzEsMiwzXQ", "é"])
def test_foreign_cursor_is_refused(room: TaskRoom, cursor: str) -> None:
    conversation = room.conversation()
    reads = [
        lambda: room.desk.task_list(ANN, cursor=cursor),
        lambda: room.desk.conversation_list(ANN, cursor=cursor),
    ]
    if cursor != "WzFd":  # a place in a history
        reads.append(lambda: room.desk.history(ANN, conversation.id, cursor=cursor))
    for read in reads:
        with pytest.raises(InvalidInput, match=r"^cursor: must be a cursor from a previous page"):
            read()


def test_conversation_always_has_a_member(room: TaskRoom) -> None:
    task = room.task(BEN)
    with pytest.raises(InvalidInput, match="participants: must have at least 1 item"):
        room.desk.conversation_create(CHAIR, task.id, [])
    only_ben = room.desk.conversation_create(CHAIR, task.id, [BEN])
    with pytest.raises(InvalidInput, match="must leave a member in the conversation"):
        room.desk.participants_remove(CHAIR, only_ben.id, [BEN, ANN])
    room.desk.task_leave(BEN, task.id)
    assert room.desk.participants_add(CHAIR, only_ben.id, [ANN]).archived_at is not None


def test_creator_is_a_member_of_the_initial_conversation(room: TaskRoom) -> None:
    for wanted in ([BEN], []):
        made = room.desk.request_task(APP, ANN, [BEN, CYD], {"participants": wanted})
        assert made.conversation.created_by == ANN
        assert made.conversation.agents == (ANN, *wanted)
