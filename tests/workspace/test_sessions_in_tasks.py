"""Sessions in tasks: permissions, delivery to the conversation, and each message once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from sessions.archiving import archive_now
from sessions.table import Table
from sessions.task_room import ANN, BEN, CHAIR, CYD, EVE, NOTHING, TaskRoom
from symposia.models.errors import (
    ConversationArchivedError,
    ConversationError,
    InvalidInput,
    NotAMember,
    ParticipantNotAdmittedError,
    TaskClosedError,
)
from symposia.models.protocol.collab import Collab
from symposia.models.protocol.dialog import Message, Role
from symposia.models.sessions.archived import ArchivePage, ArchiveProgress
from symposia.models.sessions.submission import Submission
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.sessions.archiving import SnapshotReader
from symposia.workspace.placement import TaskPlacement
from symposia.workspace.service import WorkspaceService
from symposia.workspace.values.conversation import Conversation

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


def table_in(conversation: Conversation, client: Redis, **more: Any) -> Table:
    """A session of ann, bob and cyd that writes into a conversation."""
    table = Table(client, opened=False)
    spec = json.dumps({"conversation": conversation.id, "task": conversation.task_id})
    table.open(spec=spec, archived=True, **more)
    return table


def real_time(room: TaskRoom) -> None:
    """From here on the clock of the workspace is that of the sessions, which runs on between two of its times."""
    room.clock.now_ms = time.time_ns() // 1_000_000 + 1


def after(room: TaskRoom) -> None:
    """Waits until sessions are later than the workspace."""
    while time.time_ns() // 1_000_000 <= room.clock.now_ms:
        time.sleep(0.001)


# -- what is delivered -------------------------------------------------------------------------


def test_session_messages_reach_history_and_counts(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN, BEN)
    room.workspace.send(BEN, conversation.id, "Discuss it.")
    table = table_in(conversation, client)
    table.speak(table.plan_one(), "hello", "and more")
    archive_now(room.archive, table)
    assert room.said(conversation, BEN) == ["Discuss it.", "hello", "and more"]
    said = room.workspace.history(BEN, conversation.id).items
    assert [(it.number, it.sender) for it in said] == [(1, BEN), (2, ANN), (3, ANN)]
    assert said[1].message.turn_number == 1
    (summary,) = room.workspace.conversation_list(BEN).items
    assert (summary.unread_count, summary.last_message_preview) == (2, "and more")
    room.workspace.send(BEN, conversation.id, "Thank you.", reply_to=said[2].id)
    (summary,) = room.workspace.conversation_list(ANN).items
    assert summary.unread_count == 2, "ben's; her own words in the session are hers"


def test_repeated_archiving_delivers_a_message_once(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN, BEN)
    table = table_in(conversation, client)
    texts = []
    for number in range(4):
        texts += [f"m{number}", f"sent {number}"]
        table.speak(table.plan_one(), f"m{number}")
        for _ in range(2):
            archive_now(room.archive, table)
        room.workspace.send(BEN, conversation.id, f"sent {number}")
    assert room.said(conversation) == texts


@pytest.mark.long
def test_killed_archiver_delivers_nothing(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN, BEN)
    table = table_in(conversation, client)
    for _ in range(8):  # more than fits into a page, so that somebody reads on
        table.speak(table.plan_one(), *["x" * 20_000] * 60, usage=Usage())
    reader = SnapshotReader(client)
    page = reader.read_page(table.id, ArchiveProgress()).page
    assert page is not None
    assert page.snapshot is None

    def die(_since: ArchiveProgress) -> ArchivePage:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        room.archive.writer.write(page, die)
    assert room.said(conversation) == []
    archive_now(room.archive, table)
    archive_now(room.archive, table)
    assert len(room.said(conversation)) == 480


def test_delivered_messages_are_not_delivered_again(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN, BEN)
    table = table_in(conversation, client)
    table.speak(table.plan_one(), "hello")
    reader = SnapshotReader(client)
    page = reader.read_page(table.id, ArchiveProgress()).page
    assert page is not None
    archive_now(room.archive, table)

    def read_on(since: ArchiveProgress) -> ArchivePage:
        found = reader.read_page(table.id, ArchiveProgress(since.opened_ms, 0, since.marks)).page
        assert found is not None
        return found

    room.archive.writer.write(page, read_on)
    assert room.said(conversation) == ["hello"]


def test_archived_conversation_takes_earlier_messages(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN, BEN)
    table = table_in(conversation, client)
    table.speak(table.plan_one(), "before")
    real_time(room)
    room.workspace.archive(CHAIR, conversation.id)
    after(room)
    table.speak(table.plan_one(), "after")
    archive_now(room.archive, table)
    assert room.said(conversation) == ["before"]
    room.workspace.unarchive(CHAIR, conversation.id)
    table.speak(table.plan_one(), "again")
    archive_now(room.archive, table)
    assert room.said(conversation) == ["before", "again"]
    assert table.texts() == ["before", "after", "again"], "the session has it all"


@pytest.mark.parametrize(
    "change",
    [
        lambda workspace, conversation: workspace.task_close(CHAIR, conversation.task_id),
        lambda workspace, conversation: workspace.participants_remove(CHAIR, conversation.id, [ANN]),
    ],
    ids=["closed task", "removed agent"],
)
def test_earlier_messages_are_delivered_and_later_ones_are_not(
    room: TaskRoom, client: Redis, change: Callable[[WorkspaceService, Conversation], object]
) -> None:
    conversation = room.conversation(ANN, BEN)
    table = table_in(conversation, client)
    table.speak(table.plan_one(), "before")
    real_time(room)
    change(room.workspace, conversation)
    after(room)
    table.speak(table.plan_one(), "after")
    archive_now(room.archive, table)
    assert room.said(conversation, BEN) == ["before"]


def test_messages_of_a_non_member_stay_in_the_session(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(BEN)
    table = table_in(conversation, client)
    table.speak(table.plan_one(), "let me in")
    archive_now(room.archive, table)
    assert room.said(conversation, BEN) == []


def test_messages_of_people_and_opener_are_delivered(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(BEN)
    human = {"participant_id": "ann", "kind": "human"}
    table = Table(client, opened=False)
    table.collab = table.collab.changed(participants=[human, *table.collab.participants[1:]]).activated()
    opening = Message(role=Role.USER, content="What now?")
    table.open(
        spec=json.dumps({"conversation": conversation.id}), archived=True, messages=(opening.to_json(),)
    )
    table.speak(table.plan_one(), "I am ann, a person")
    archive_now(room.archive, table)
    assert room.said(conversation, BEN) == ["What now?", "I am ann, a person"]
    assert [it.sender for it in room.workspace.history(BEN, conversation.id).items] == [None, ANN]


def test_lost_conversation_does_not_block_archiving(room: TaskRoom, client: Redis) -> None:
    conversation = room.conversation(ANN)
    table = table_in(conversation.model_copy(update={"id": NOTHING}), client)
    table.speak(table.plan_one(), "hello")
    archive_now(room.archive, table)
    assert len(list(room.archive.reader.entries(table.id, "dialog"))) == 1


# -- who may -----------------------------------------------------------------------------------


def placed(room: TaskRoom, *names: str, people: tuple[str, ...] = (), **how: Any) -> Submission:
    participants = [{"participant_id": name} for name in names]
    participants += [{"participant_id": name, "kind": "human"} for name in people]
    collab = Collab(title="t", purpose="p", mode="round_robin", participants=participants)
    prepared = Submission.build(collab, **how).prepare(max_message_bytes=1_000_000)
    return TaskPlacement(lambda: room.archive)(prepared)


def test_session_runs_in_the_task_of_its_conversation(room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN)
    for task in ({}, {"task": conversation.task_id.upper()}, {"thread_id": conversation.task_id}):
        made = placed(room, ANN, BEN, people=("zoe",), conversation=conversation.id.upper(), **task)
        assert (made.task, made.conversation) == (conversation.task_id, conversation.id)
        assert made.thread_id == conversation.task_id


def test_a_session_may_run_in_a_task_alone(room: TaskRoom) -> None:
    task = room.task(BEN)
    made = placed(room, ANN, BEN, task=task.id)
    assert (made.task, made.conversation, made.thread_id) == (task.id, None, task.id)


def test_session_outside_tasks_needs_no_check(room: TaskRoom) -> None:
    assert placed(room, EVE).thread_id is None


def test_session_of_agents_without_access_is_refused(room: TaskRoom) -> None:
    conversation, other = room.conversation(ANN, BEN), room.task(BEN)
    cases: list[tuple[type[ConversationError] | type[InvalidInput], str, dict[str, str], tuple[str, ...]]] = [
        (
            NotAMember,
            f"'cyd' is not a member of '{conversation.id}'",
            {"conversation": conversation.id},
            (ANN, CYD),
        ),
        (NotAMember, f"'ann' is not a member of '{NOTHING}'", {"conversation": NOTHING}, (ANN,)),
        (ParticipantNotAdmittedError, r"not participants of task .*'eve'", {"task": other.id}, (ANN, EVE)),
        (ParticipantNotAdmittedError, r"not participants of task .*'ann'", {"task": NOTHING}, (ANN,)),
        (InvalidInput, "conversation: must be a UUID v4", {"conversation": "zz"}, (ANN,)),
        (InvalidInput, "task: must be a UUID v4", {"task": "zz", "conversation": conversation.id}, (ANN,)),
        (
            InvalidInput,
            "task: must be the task of",
            {"task": other.id, "conversation": conversation.id},
            (ANN,),
        ),
        (
            InvalidInput,
            "thread_id: must be the id of the task",
            {"task": other.id, "thread_id": NOTHING},
            (ANN,),
        ),
    ]
    for kind, said, how, names in cases:
        with pytest.raises(kind, match=said):
            placed(room, *names, **how)


def test_unknown_conversation_and_task_are_refused(room: TaskRoom) -> None:
    with pytest.raises(InvalidInput, match="conversation: must be the id of a conversation"):
        placed(room, people=("zoe",), conversation=NOTHING)
    with pytest.raises(InvalidInput, match="task: must be the id of a task"):
        placed(room, people=("zoe",), task=NOTHING)


def test_session_in_a_closed_conversation_is_refused(room: TaskRoom) -> None:
    conversation = room.conversation(ANN)
    room.workspace.archive(CHAIR, conversation.id)
    with pytest.raises(ConversationArchivedError):
        placed(room, ANN, conversation=conversation.id)
    room.workspace.task_close(CHAIR, conversation.task_id)
    for how in ({"conversation": conversation.id}, {"task": conversation.task_id}):
        with pytest.raises(TaskClosedError):
            placed(room, ANN, **how)


def test_without_an_archive_there_are_no_tasks(room: TaskRoom) -> None:
    prepared = Submission.build(
        Collab(title="t", purpose="p", mode="round_robin", participants=[{"participant_id": ANN}]),
        task=NOTHING,
    ).prepare(max_message_bytes=1_000_000)
    with pytest.raises(InvalidInput, match="task: requires the archive, which is disabled"):
        TaskPlacement(lambda: None)(prepared)
