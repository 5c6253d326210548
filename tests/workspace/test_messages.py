"""Messages of a conversation: sent, read in pages, and counted as unread."""

from __future__ import annotations

from threading import Timer

import pytest

from sessions.task_room import ANN, BEN, CHAIR, CYD, EVE, NOTHING, TaskRoom
from symposia.models.errors import ConversationArchivedError, InvalidInput, NotAMember, TaskClosedError
from symposia.models.text.ids import moment_from_ms, new_id
from symposia.workspace.values.parts import TextPart


def unread(room: TaskRoom, agent: str) -> list[int]:
    return [it.unread_count for it in room.workspace.conversation_list(agent).items]


def test_every_member_reads_message_and_metadata(room: TaskRoom) -> None:
    conversation = room.conversation()
    first = room.workspace.send(ANN, conversation.id, "Shall we paint it blue?")
    room.clock.now_ms += 1_500
    second = room.workspace.send(BEN, conversation.id, "Yes.", reply_to=first.id.upper())
    for reader in (ANN, BEN):
        assert room.workspace.history(reader, conversation.id).items == (first, second)
    assert (second.number, second.sender, second.text, second.reply_to) == (2, BEN, "Yes.", first.id)
    assert second.timestamp == moment_from_ms(room.clock.now_ms)
    assert second.to_wire() == {
        "id": second.id,
        "number": 2,
        "role": "agent",
        "sender": BEN,
        "text": "Yes.",
        "timestamp": "2027-01-15T08:00:01.500Z",
        "replyTo": first.id,
    }
    assert room.workspace.conversation_get(ANN, conversation.id).last_message_timestamp == second.timestamp


@pytest.mark.parametrize(
    "text", ["x", "x" * 32_768, " ", "\x00", "a NUL \x00 in it", "日本 🎭 \u2028 '; DROP TABLE message"]
)
def test_text_is_read_as_it_was_sent(room: TaskRoom, text: str) -> None:
    conversation = room.conversation()
    assert room.workspace.send(ANN, conversation.id, text).text == text
    assert room.said(conversation) == [text]


@pytest.mark.parametrize("text", ["", "x" * 32_769, None, 7, b"x"])
def test_text_length_is_limited(room: TaskRoom, text) -> None:
    conversation = room.conversation()
    with pytest.raises(InvalidInput, match=r"^text: must be text of 1 to 32768 characters"):
        room.workspace.send(ANN, conversation.id, text)
    assert room.said(conversation) == []


def test_lone_surrogate_is_refused(room: TaskRoom) -> None:
    conversation = room.conversation()
    with pytest.raises(InvalidInput, match="must be valid UTF-8 text"):
        room.workspace.send(ANN, conversation.id, "\ud800")
    assert room.said(conversation) == []


def test_send_checks_run_in_a_fixed_order(room: TaskRoom) -> None:
    conversation = room.conversation()
    elsewhere = room.conversation()
    foreign = room.workspace.send(ANN, elsewhere.id, "elsewhere").id
    for target in (foreign, NOTHING, "x"):
        with pytest.raises(InvalidInput, match=r"^reply_to: must be a message of this conversation"):
            room.workspace.send(ANN, conversation.id, "", reply_to=target)
    room.workspace.archive(CHAIR, conversation.id)
    with pytest.raises(ConversationArchivedError, match="is archived and does not accept messages"):
        room.workspace.send(ANN, conversation.id, "", reply_to=foreign)
    room.workspace.task_close(CHAIR, conversation.task_id)
    with pytest.raises(TaskClosedError):
        room.workspace.send(ANN, conversation.id, "", reply_to=foreign)
    with pytest.raises(NotAMember):
        room.workspace.send(CYD, conversation.id, "", reply_to=foreign)
    assert room.said(conversation) == []


def test_archived_conversation_is_read_only(
    room: TaskRoom,
) -> None:
    conversation = room.conversation()
    room.workspace.send(ANN, conversation.id, "one")
    room.workspace.archive(CHAIR, conversation.id)
    assert room.said(conversation, BEN) == ["one"]
    assert room.workspace.mark_read(BEN, conversation.id) == 0
    room.workspace.unarchive(CHAIR, conversation.id)
    room.workspace.send(BEN, conversation.id, "two")
    room.workspace.task_close(CHAIR, conversation.task_id)
    assert room.said(conversation) == ["one", "two"]


def test_history_pages_from_the_newest_backwards(room: TaskRoom) -> None:
    conversation = room.conversation()
    sent = [room.workspace.send(ANN, conversation.id, f"m{number}") for number in range(1, 108)]
    page = room.workspace.history(BEN, conversation.id)
    assert page.items == tuple(sent[-50:]), "fifty, unless told otherwise"
    room.workspace.send(ANN, conversation.id, "meanwhile")
    before = room.workspace.history(BEN, conversation.id, cursor=page.cursor, limit=100)
    assert before.items == tuple(sent[:-50])
    assert before.cursor is None
    assert len(room.workspace.history(BEN, conversation.id, limit=100).items) == 100
    assert room.said(conversation)[-1] == "meanwhile"


def test_unread_counts_later_messages_of_others(room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN, CYD)
    one = room.workspace.send(ANN, conversation.id, "one")
    two = room.workspace.send(BEN, conversation.id, "two")
    room.workspace.send(ANN, conversation.id, "three")
    assert [unread(room, agent) for agent in (ANN, BEN, CYD)] == [[1], [2], [3]]
    assert room.workspace.mark_read(CYD, conversation.id, two.id) == 1
    assert room.workspace.mark_read(CYD, conversation.id, one.id) == 1, "never back"
    assert room.workspace.mark_read(CYD, conversation.id) == 0
    assert room.workspace.mark_read(BEN, conversation.id, one.id) == 1
    room.workspace.send(CYD, conversation.id, "four")
    assert [unread(room, agent) for agent in (ANN, BEN, CYD)] == [[2], [2], [0]]


def test_mark_read_needs_a_message_of_its_conversation(room: TaskRoom) -> None:
    conversation, elsewhere = room.conversation(), room.conversation()
    foreign = room.workspace.send(ANN, elsewhere.id, "elsewhere")
    for message in (foreign.id, NOTHING, ""):
        with pytest.raises(InvalidInput, match=r"^message_id: must be a message of this conversation"):
            room.workspace.mark_read(BEN, conversation.id, message)


def test_summary_has_the_last_message(room: TaskRoom) -> None:
    task = room.task(BEN)
    tags = {"tags": [{"kind": "door"}]}
    conversation = room.workspace.conversation_create(CHAIR, task.id, [ANN, BEN], name="N", metadata=tags)
    (empty,) = room.workspace.conversation_list(BEN).items
    assert empty.to_wire() == {
        "id": conversation.id,
        "name": "N",
        "unreadCount": 0,
        "metadata": tags,
        "participants": [{"type": "agent", "id": ANN}, {"type": "agent", "id": BEN}],
    }
    room.workspace.send(ANN, conversation.id, "é" * 81)
    (summary,) = room.workspace.conversation_list(BEN).items
    assert summary.to_wire() == {
        **empty.to_wire(),
        "lastMessagePreview": "é" * 80,
        "lastMessageTimestamp": "2027-01-15T08:00:00.000Z",
        "unreadCount": 1,
    }


def test_clock_set_back_keeps_the_last_activity(room: TaskRoom) -> None:
    conversation = room.conversation()
    newest = room.workspace.send(ANN, conversation.id, "one").timestamp
    room.clock.now_ms -= 5_000
    room.workspace.send(ANN, conversation.id, "two")
    assert room.said(conversation) == ["one", "two"]
    after = room.workspace.conversation_get(ANN, conversation.id)
    assert after.last_message_timestamp == newest
    assert after.updated_at == newest


def test_conversations_are_filtered_by_task(room: TaskRoom) -> None:
    task = room.task(BEN)
    here, shelved = (room.conversation(task=task) for _ in range(2))
    elsewhere = room.conversation()
    room.workspace.archive(CHAIR, shelved.id)

    def listed(**wanted) -> set[str]:
        return {it.id for it in room.workspace.conversation_list(BEN, **wanted).items}

    assert listed() == {here.id, elsewhere.id}
    assert listed(task_id=task.id) == {here.id}
    assert listed(include_archived=True) == {here.id, shelved.id, elsewhere.id}
    assert listed(task_id=task.id, include_archived=True) == {here.id, shelved.id}
    assert listed(archived=True) == listed(archived=True, include_archived=True) == {shelved.id}
    assert listed(task_id=task.id, archived=False, include_archived=True) == {here.id}


def test_summary_shows_the_archive_time(room: TaskRoom) -> None:
    conversation = room.conversation()
    archived = room.workspace.archive(CHAIR, conversation.id)
    (summary,) = room.workspace.conversation_list(BEN, include_archived=True).items
    assert summary.archived_at == archived.archived_at
    assert summary.to_wire()["archivedAt"] == "2027-01-15T08:00:00.000Z"
    room.workspace.unarchive(CHAIR, conversation.id)
    (summary,) = room.workspace.conversation_list(BEN).items
    assert "archivedAt" not in summary.to_wire()


@pytest.mark.parametrize("limit", [1, 2])
def test_pages_skip_archived_conversations(room: TaskRoom, limit: int) -> None:
    task = room.task(BEN)
    made = [room.conversation(task=task).id for _ in range(5)]
    for shelved in made[1::2]:
        room.workspace.archive(CHAIR, shelved)
    seen = room.pages(room.workspace.conversation_list, BEN, limit=limit)
    assert [it.id for it in seen] == sorted(made[::2])


def test_session_search_omits_conversation_messages(room: TaskRoom) -> None:
    room.workspace.send(ANN, room.conversation().id, "a blue door")
    assert room.archive.reader.search("door").items == ()


@pytest.mark.parametrize("agent", ["", " ", "x" * 201, None, 7, "a\x00b", "\ud800"])
def test_agent_name_is_required(room: TaskRoom, agent) -> None:
    conversation = room.conversation()
    for act in (
        lambda: room.workspace.send(agent, conversation.id, "x"),
        lambda: room.workspace.archive(agent, conversation.id),
        lambda: room.workspace.task_list(agent),
    ):
        with pytest.raises(InvalidInput, match=r"^agent: "):
            act()


def test_unknown_conversation_id_is_not_found(room: TaskRoom) -> None:
    for strange in (None, 7, "", "'; DROP TABLE task", new_id()):
        with pytest.raises(NotAMember):
            room.workspace.history(EVE, strange)


PARTS = [
    {"kind": "text", "text": "The plan"},
    {"kind": "data", "data": {"floor": 3, "rooms": ["a"]}},
    {"kind": "file", "uri": "https://files/plan.pdf", "name": "plan.pdf", "mediaType": "application/pdf"},
]


def test_message_has_parts_and_their_text(room: TaskRoom) -> None:
    conversation = room.conversation()
    sent = room.workspace.send(ANN, conversation.id, parts=PARTS)
    (read,) = room.workspace.history(BEN, conversation.id).items
    assert read == sent
    assert list(read.parts) == read.to_wire()["parts"] == PARTS
    assert read.text == 'The plan\n\n{"floor":3,"rooms":["a"]}\n\n[file plan.pdf]'
    assert room.workspace.send(ANN, conversation.id, "mine", parts=[TextPart(text="x")]).text == "mine"


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([], "parts"),
        ("x", "parts"),
        ([{"kind": "video"}], "parts"),
        ([{"kind": "text", "text": ""}], "parts"),
        ([{"kind": "file", "name": "x"}], "parts"),
        ([{"kind": "text", "text": "x"}] * 51, "parts"),
        ([{"kind": "text", "text": "x" * 131_072}], "parts: must have at most 131072 characters as JSON"),
    ],
)
def test_bad_parts_are_refused(room: TaskRoom, parts, field) -> None:
    conversation = room.conversation()
    with pytest.raises(InvalidInput, match=f"^{field}"):
        room.workspace.send(ANN, conversation.id, parts=parts)
    assert room.said(conversation) == []


def test_new_messages_of_others_are_a_stream(room: TaskRoom) -> None:
    here, there = room.conversation(), room.conversation()
    first = room.workspace.send(ANN, here.id, "one")
    room.workspace.send(BEN, here.id, "mine")
    second = room.workspace.send(ANN, there.id, "two")
    page = room.workspace.new_messages(BEN, limit=1)
    assert [(it.conversation_id, it.message) for it in page.items] == [(here.id, first)]
    page = room.workspace.new_messages(BEN, after=page.cursor)
    assert [(it.conversation_id, it.message) for it in page.items] == [(there.id, second)]
    late = Timer(0.3, room.workspace.send, (ANN, here.id, "three"))
    late.start()
    page = room.workspace.new_messages(BEN, after=page.cursor, wait_s=60)
    late.join()
    assert [it.message.text for it in page.items] == ["three"]
    assert room.workspace.new_messages(BEN, after=page.cursor).items == ()
    assert room.workspace.new_messages(EVE).items == ()
    with pytest.raises(InvalidInput, match="wait_s: must be from 0 to 60"):
        room.workspace.new_messages(BEN, wait_s=61)
