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
    made = room.workspace.conversation_create(
        CHAIR, task.id, [CYD, ANN, CYD], name="N", metadata={"tags": [{"a": "b"}]}
    )
    assert (made.task_id, made.agents, made.name, made.created_by) == (task.id, (ANN, CYD), "N", CHAIR)
    assert made.metadata.to_wire() == {"tags": [{"a": "b"}]}
    assert (made.archived_at, made.last_message_timestamp) == (None, None)
    with pytest.raises(ParticipantNotAdmittedError) as caught:
        room.workspace.conversation_create(CHAIR, task.id, [ANN, EVE, "mal"])
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
        (room.workspace.conversation_create, conversation.task_id),
        (room.workspace.conversation_update, conversation.id),
    ):
        with pytest.raises(InvalidInput, match=f"^{said}"):
            call(CHAIR, target, **more)
    assert [it.id for it in room.workspace.conversation_list(ANN).items] == [conversation.id]
    assert room.workspace.conversation_get(ANN, conversation.id) == conversation


def test_members_of_a_conversation_are_a_list(room: TaskRoom) -> None:
    with pytest.raises(InvalidInput, match=r"^participants: "):
        room.workspace.conversation_create(CHAIR, room.task().id, ANN)


def test_name_and_tags_change_separately(room: TaskRoom) -> None:
    tags, others = {"tags": [{"kind": "door"}]}, {"tags": [{"kind": "roof"}, {"a": "b"}]}
    made = room.workspace.conversation_create(CHAIR, room.task().id, [ANN, BEN], name="Old", metadata=tags)
    room.clock.now_ms += 5

    def changed(**what) -> tuple[str | None, object]:
        after = room.workspace.conversation_update(CHAIR, made.id, **what)
        assert after == room.workspace.conversation_get(ANN, made.id)
        (summary,) = room.workspace.conversation_list(BEN).items
        assert (summary.name, summary.metadata) == (after.name, after.metadata)
        return after.name, after.metadata and after.metadata.to_wire()

    assert changed(name="New") == ("New", tags)
    assert changed(metadata=others) == ("New", others)
    assert changed(name=None) == (None, others)
    assert changed(name="Newer", metadata=None) == ("Newer", None)
    updated = room.workspace.conversation_get(ANN, made.id).updated_at
    assert updated == moment_from_ms(room.clock.now_ms)
    room.clock.now_ms += 5
    assert changed() == changed(name="Newer") == ("Newer", None)
    assert room.workspace.conversation_get(ANN, made.id).updated_at == updated, "nothing changed"


def test_an_archived_conversation_may_be_renamed(room: TaskRoom) -> None:
    conversation = room.conversation()
    archived = room.workspace.archive(CHAIR, conversation.id)
    after = room.workspace.conversation_update(CHAIR, conversation.id, name="New")
    assert (after.name, after.archived_at) == ("New", archived.archived_at)
    room.workspace.task_close(CHAIR, conversation.task_id)
    with pytest.raises(TaskClosedError):
        room.workspace.conversation_update(CHAIR, conversation.id, name="Newer")


def test_name_may_have_a_hundred_characters(room: TaskRoom) -> None:
    assert room.workspace.conversation_create(CHAIR, room.task().id, [ANN], name="x" * 100).name == "x" * 100


def test_conversation_has_at_most_256_members(room: TaskRoom) -> None:
    names = [f"a{number:03}" for number in range(257)]
    task = room.task(*names)
    with pytest.raises(ConversationFullError):
        room.workspace.conversation_create(CHAIR, task.id, names)
    full = room.workspace.conversation_create(CHAIR, task.id, names[:256])
    assert room.workspace.participants_add(CHAIR, full.id, names[:9]).agents == tuple(names[:256])
    with pytest.raises(ConversationFullError, match="is full: it can have at most 256 members"):
        room.workspace.participants_add(CHAIR, full.id, names[256:])
    room.workspace.participants_remove(CHAIR, full.id, names[:1])
    assert len(room.workspace.participants_add(CHAIR, full.id, names[256:]).agents) == 256


def test_second_archiving_keeps_the_first_timestamp(room: TaskRoom) -> None:
    conversation = room.conversation()
    first = room.workspace.archive(CHAIR, conversation.id)
    room.clock.now_ms += 5
    again = room.workspace.archive(CHAIR, conversation.id)
    assert again.archived_at == first.archived_at == moment_from_ms(room.clock.now_ms - 5)
    assert again.dialog_status is DialogStatus.PAUSED
    for _ in range(2):
        back = room.workspace.unarchive(CHAIR, conversation.id)
        assert (back.archived_at, back.dialog_status) == (None, DialogStatus.ACTIVE)
    room.clock.now_ms += 5
    assert room.workspace.archive(CHAIR, conversation.id).archived_at == moment_from_ms(room.clock.now_ms)


def test_add_and_remove_member_are_idempotent(room: TaskRoom) -> None:
    conversation = room.conversation(ANN)
    for _ in range(2):
        assert room.workspace.participants_add(CHAIR, conversation.id, [BEN, ANN]).agents == (ANN, BEN)
    for _ in range(2):
        assert room.workspace.participants_remove(CHAIR, conversation.id, [BEN, EVE]).agents == (ANN,)
    with pytest.raises(ParticipantNotAdmittedError):
        room.workspace.participants_add(CHAIR, conversation.id, [BEN, EVE])
    assert room.workspace.conversation_get(ANN, conversation.id).agents == (ANN,)


def test_returning_member_keeps_its_read_position(room: TaskRoom) -> None:
    conversation = room.conversation()
    for text in ("one", "two"):
        room.workspace.send(ANN, conversation.id, text)
    assert room.workspace.mark_read(BEN, conversation.id) == 0
    room.workspace.participants_remove(CHAIR, conversation.id, [BEN])
    room.workspace.send(ANN, conversation.id, "three")
    room.workspace.participants_add(CHAIR, conversation.id, [BEN])
    (summary,) = room.workspace.conversation_list(BEN).items
    assert summary.unread_count == 1


def test_closing_a_task_archives_its_conversations(
    room: TaskRoom,
) -> None:
    task = room.task(BEN)
    early, late = (room.conversation(task=task) for _ in range(2))
    first = room.workspace.archive(CHAIR, early.id)
    elsewhere = room.conversation()
    room.clock.now_ms += 7
    closed = room.workspace.task_close(CHAIR, task.id)
    assert (closed.status, closed.ended_at) == (TaskStatus.CLOSED, moment_from_ms(room.clock.now_ms))
    early, late = (room.workspace.conversation_get(ANN, it.id) for it in (early, late))
    assert (early.archived_at, late.archived_at) == (first.archived_at, closed.ended_at)
    assert early.dialog_status is late.dialog_status is DialogStatus.COMPLETED
    assert room.workspace.conversation_get(ANN, elsewhere.id).archived_at is None
    room.clock.now_ms += 7
    assert room.workspace.task_close(CHAIR, task.id) == closed, "once is enough"


def test_a_closed_task_takes_no_changes(room: TaskRoom) -> None:
    conversation = room.conversation()
    task_id, workspace = conversation.task_id, room.workspace
    workspace.task_close(CHAIR, task_id)
    changes = (
        lambda: workspace.conversation_create(CHAIR, task_id, [ANN]),
        lambda: workspace.unarchive(CHAIR, conversation.id),
        lambda: workspace.participants_add(CHAIR, conversation.id, [CYD]),
        lambda: workspace.task_add_participant(CHAIR, task_id, EVE),
        lambda: workspace.task_remove_participant(CHAIR, task_id, ANN),
        lambda: workspace.send(ANN, conversation.id, "hello"),
    )
    for change in changes:
        with pytest.raises(TaskClosedError, match="is closed: only an active task"):
            change()


def test_waiting_or_failed_task_takes_no_changes(room: TaskRoom) -> None:
    def judge(request) -> bool:
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.workspace.conversation_create(CHAIR, request.task_id, [ANN])
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.workspace.task_close(CHAIR, request.task_id)
        with pytest.raises(TaskClosedError, match="is waiting"):
            room.workspace.task_add_participant(CHAIR, request.task_id, EVE)
        return True

    room.verdict(judge)
    assert room.task().status is TaskStatus.ACTIVE


def test_later_participant_may_become_a_member(room: TaskRoom) -> None:
    conversation = room.conversation()
    for _ in range(2):
        assert room.workspace.task_add_participant(CHAIR, conversation.task_id, EVE).agents == (
            ANN,
            BEN,
            CYD,
            EVE,
        )
    assert EVE in room.workspace.participants_add(CHAIR, conversation.id, [EVE]).agents


def test_removed_participant_leaves_all_conversations(room: TaskRoom) -> None:
    task = room.task(BEN)
    here, there = (room.conversation(task=task) for _ in range(2))
    elsewhere = room.conversation()
    for _ in range(2):
        assert room.workspace.task_remove_participant(CHAIR, task.id, BEN).agents == (ANN,)
    assert [it.id for it in room.workspace.conversation_list(BEN).items] == [elsewhere.id]
    for conversation in (here, there):
        assert room.workspace.conversation_get(ANN, conversation.id).agents == (ANN,)
        with pytest.raises(NotAMember):
            room.workspace.send(BEN, conversation.id, "hello?")
    with pytest.raises(ParticipantNotAdmittedError):
        room.workspace.participants_add(CHAIR, here.id, [BEN])


def test_the_last_to_leave_closes_the_task(room: TaskRoom) -> None:
    task = room.task(BEN)
    conversation = room.conversation(task=task)
    left = room.workspace.task_leave(ANN, task.id)
    assert (left.status, left.agents) == (TaskStatus.ACTIVE, (BEN,))
    assert room.workspace.conversation_get(BEN, conversation.id).agents == (BEN,)
    assert room.workspace.task_leave(ANN, task.id) is None, "it has left: no error"
    room.clock.now_ms += 3
    closed = room.workspace.task_leave(BEN, task.id)
    assert (closed.status, closed.agents) == (TaskStatus.CLOSED, ())
    assert closed.ended_at == moment_from_ms(room.clock.now_ms)
    assert room.workspace.task_list(ANN).items == ()
    with pytest.raises(TaskClosedError):
        room.workspace.participants_add(CHAIR, conversation.id, [])


def test_tasks_are_listed_newest_first_page_by_page(room: TaskRoom) -> None:
    made = []
    for number in range(5):
        made.append(room.task(BEN))
        room.clock.now_ms += number % 2  # some at the same time
    seen = room.pages(room.workspace.task_list, BEN, limit=2)
    assert seen == sorted(made, key=lambda it: (-it.created_at.timestamp(), it.id))
    assert [it.id for it in room.workspace.task_list(CHAIR).items] == [it.id for it in seen], (
        "the manager's, too"
    )
    assert room.workspace.task_list(CYD).items == ()


def test_agent_ids_are_names_or_uuids_in_any_case(room: TaskRoom) -> None:
    agent = new_id()
    task = room.task(agent.upper())
    assert task.agents == tuple(sorted((ANN, agent)))
    conversation = room.conversation(agent, ANN, task=task)
    assert room.workspace.send(agent.upper(), conversation.id.upper(), "hello").sender == agent


@pytest.mark.parametrize("limit", [0, 101, "7", True, None])
def test_a_page_has_from_1_to_100_rows(room: TaskRoom, limit) -> None:
    conversation = room.conversation()
    for read in (
        lambda: room.workspace.task_list(ANN, limit=limit),
        lambda: room.workspace.conversation_list(ANN, limit=limit),
        lambda: room.workspace.history(ANN, conversation.id, limit=limit),
    ):
        with pytest.raises(InvalidInput, match=r"^limit: must be from 1 to 100"):
            read()


@pytest.mark.parametrize("cursor", ["", "x", "eyJhIjogMX0", "WzFd", "W10", "bnVsbA", "WzEsMiwzXQ", "é"])
def test_foreign_cursor_is_refused(room: TaskRoom, cursor: str) -> None:
    conversation = room.conversation()
    reads = [
        lambda: room.workspace.task_list(ANN, cursor=cursor),
        lambda: room.workspace.conversation_list(ANN, cursor=cursor),
    ]
    if cursor != "WzFd":  # a place in a history
        reads.append(lambda: room.workspace.history(ANN, conversation.id, cursor=cursor))
    for read in reads:
        with pytest.raises(InvalidInput, match=r"^cursor: must be a cursor from a previous page"):
            read()


def test_conversation_always_has_a_member(room: TaskRoom) -> None:
    task = room.task(BEN)
    with pytest.raises(InvalidInput, match="participants: must have at least 1 item"):
        room.workspace.conversation_create(CHAIR, task.id, [])
    only_ben = room.workspace.conversation_create(CHAIR, task.id, [BEN])
    with pytest.raises(InvalidInput, match="must leave a member in the conversation"):
        room.workspace.participants_remove(CHAIR, only_ben.id, [BEN, ANN])
    room.workspace.task_leave(BEN, task.id)
    assert room.workspace.participants_add(CHAIR, only_ben.id, [ANN]).archived_at is not None


def test_creator_is_a_member_of_the_initial_conversation(room: TaskRoom) -> None:
    for wanted in ([BEN], []):
        made = room.workspace.request_task(APP, ANN, [BEN, CYD], {"participants": wanted})
        assert made.conversation.created_by == ANN
        assert made.conversation.agents == (ANN, *wanted)
