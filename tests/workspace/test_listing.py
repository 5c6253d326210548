"""Pages of conversations during changes: nothing is missed and nothing is repeated."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from sessions.task_room import ANN, BEN, CHAIR, TaskRoom
from symposia.models.protocol.dialog import Message, Role
from symposia.models.text.ids import new_id
from symposia.workspace.sql.store import WorkspaceStore
from symposia.workspace.values.conversation import IncomingMessage

#: What happens: between two pages, and before the first one.
SAY, MAKE, WAIT, TURN = "say", "make", "wait", "turn"
steps = st.lists(
    st.one_of(
        st.tuples(st.just(SAY), st.integers(0, 30)),
        st.tuples(st.just(MAKE), st.just(0)),
        st.tuples(st.just(WAIT), st.integers(0, 2)),
        st.tuples(st.just(TURN), st.just(0)),
    ),
    max_size=25,
)


def listed_as_of_now(room: TaskRoom) -> list[str]:
    """As the rule has it: by last activity, the newest first, then by id."""
    found = [
        room.workspace.conversation_get(BEN, it.id)
        for it in room.workspace.conversation_list(BEN, limit=100).items
    ]
    by_activity = sorted(found, key=lambda it: it.id)
    by_activity.sort(key=lambda it: it.last_message_timestamp or it.created_at, reverse=True)
    return [it.id for it in by_activity]


@settings(max_examples=scaled_examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=steps, meanwhile=steps, limit=st.integers(1, 4))
def test_pages_show_the_list_of_the_first_page(room: TaskRoom, before, meanwhile, limit: int) -> None:
    task = room.task(BEN)
    made: list[str] = [it.id for it in room.workspace.conversation_list(BEN, limit=100).items]
    for conversation in made:  # of the example before
        room.workspace.participants_remove(CHAIR, conversation, [BEN])
    made = []

    def happen(step: tuple[str, int]) -> None:
        what, number = step
        if what == MAKE:
            made.append(room.conversation(ANN, BEN, task=task).id)
        elif what == SAY and made:
            room.workspace.send(ANN, made[number % len(made)], "x")
        elif what == WAIT:
            room.clock.now_ms += number

    for step in [(MAKE, 0), *before]:
        happen(step)
    expected = listed_as_of_now(room)
    assert [it.id for it in room.workspace.conversation_list(BEN, limit=100).items] == expected
    page = room.workspace.conversation_list(BEN, limit=limit)
    seen, coming = [it.id for it in page.items], iter(meanwhile)
    while page.cursor is not None:
        for step in coming:
            if step[0] == TURN:
                break
            happen(step)
        page = room.workspace.conversation_list(BEN, limit=limit, cursor=page.cursor)
        seen += [it.id for it in page.items]
    assert len(set(seen)) == len(seen), "nothing twice"
    # What was made since may stand in between, where it began at the same time.
    assert [it for it in seen if it in expected] == expected


@pytest.mark.parametrize("limit", [1, 3])
def test_conversations_of_one_instant_are_listed_by_id(room: TaskRoom, limit: int) -> None:
    task = room.task(BEN)
    ids = sorted(room.conversation(task=task).id for _ in range(7))
    assert [it.id for it in room.pages(room.workspace.conversation_list, BEN, limit=limit)] == ids


def test_late_message_moves_no_conversation_back(room: TaskRoom) -> None:
    task = room.task(BEN)
    other, late, top = (room.conversation(task=task) for _ in range(3))
    for it in (other, late, top):
        room.clock.now_ms += 1
        room.workspace.send(ANN, it.id, "x")
    said = Message(role=Role.AGENT, content="said long ago")
    with WorkspaceStore(room.archive.database).changing() as changes:
        changes.append(changes.lock_conversation(late.id), IncomingMessage(new_id(), said, 1))
    page = room.workspace.conversation_list(BEN, limit=1)
    seen = [it.id for it in page.items]
    room.workspace.send(ANN, late.id, "y")
    while page.cursor is not None:
        page = room.workspace.conversation_list(BEN, limit=1, cursor=page.cursor)
        seen += [it.id for it in page.items]
    assert seen == [top.id, late.id, other.id]
