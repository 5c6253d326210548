"""Permissions of every method for every agent; a refusal discloses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sessions.task_room import ANN, BEN, CHAIR, CYD, EVE, NOTHING, TaskRoom
from symposia.models.errors import NotAMember, NotTaskManager
from symposia.workspace.service import WorkspaceService

OTHER = "other-chair"

#: Methods of the task-manager: what is called with a workspace, who acts, the id of a task and of a conversation.
Call = Callable[[WorkspaceService, str, str, str], Any]
MANAGING: dict[str, Call] = {
    "conversation_create": lambda workspace, who, task, _: workspace.conversation_create(who, task, [ANN]),
    "archive": lambda workspace, who, _, conversation: workspace.archive(who, conversation),
    "unarchive": lambda workspace, who, _, conversation: workspace.unarchive(who, conversation),
    "conversation_update": lambda workspace, who, _, conversation: workspace.conversation_update(
        who, conversation, name="New"
    ),
    "participants_add": lambda workspace, who, _, conversation: workspace.participants_add(
        who, conversation, [CYD]
    ),
    "participants_remove": lambda workspace, who, _, conversation: workspace.participants_remove(
        who, conversation, [BEN]
    ),
    "task_add_participant": lambda workspace, who, task, _: workspace.task_add_participant(who, task, EVE),
    "task_remove_participant": lambda workspace, who, task, _: workspace.task_remove_participant(
        who, task, BEN
    ),
    "task_close": lambda workspace, who, task, _: workspace.task_close(who, task),
}
#: Methods of members of the conversation.
MEMBERS: dict[str, Call] = {
    "conversation_get": lambda workspace, who, _, conversation: workspace.conversation_get(who, conversation),
    "send": lambda workspace, who, _, conversation: workspace.send(who, conversation, "hello"),
    "history": lambda workspace, who, _, conversation: workspace.history(who, conversation),
    "mark_read": lambda workspace, who, _, conversation: workspace.mark_read(who, conversation),
}
#: The same calls with arguments that are wrong in themselves: authority is looked at first.
WRONG: dict[str, Call] = {
    "conversation_create": lambda workspace, who, task, _: workspace.conversation_create(
        who, task, [EVE], name=""
    ),
    "conversation_update": lambda workspace, who, _, conversation: workspace.conversation_update(
        who, conversation, name=""
    ),
    "participants_add": lambda workspace, who, _, conversation: workspace.participants_add(
        who, conversation, [EVE, ""]
    ),
    "participants_remove": lambda workspace, who, _, conversation: workspace.participants_remove(
        who, conversation, [""]
    ),
    "task_add_participant": lambda workspace, who, task, _: workspace.task_add_participant(who, task, ""),
    "task_remove_participant": lambda workspace, who, task, _: workspace.task_remove_participant(
        who, task, ""
    ),
}
#: The initiator, a member, one who takes part but is no member, a stranger, and who manages other tasks.
NOT_MANAGERS = [ANN, BEN, CYD, EVE, OTHER]
#: The task-manager is no member unless it was made one.
NOT_MEMBERS = [CYD, EVE, CHAIR, OTHER]


@pytest.fixture
def ids(room: TaskRoom) -> tuple[str, str]:
    """A task of ann, ben and cyd with a conversation of ann and ben; another agent manages another task."""
    room.managers.register("elsewhere", lambda _: True, agent=OTHER)
    room.workspace.request_task("elsewhere", EVE, [ANN], {})
    conversation = room.conversation(ANN, BEN)
    return conversation.task_id, conversation.id


@pytest.mark.parametrize("who", NOT_MANAGERS)
@pytest.mark.parametrize("method", MANAGING)
def test_only_the_task_manager_manages(room: TaskRoom, ids: tuple[str, str], method: str, who: str) -> None:
    before = room.workspace.conversation_get(ANN, ids[1])
    with pytest.raises(NotTaskManager) as caught:
        MANAGING[method](room.workspace, who, *ids)
    assert (caught.value.agent, caught.value.target in ids) == (who, True)
    assert room.workspace.conversation_get(ANN, ids[1]) == before
    assert room.workspace.task_list(CHAIR).items[0].agents == (ANN, BEN, CYD)


@pytest.mark.parametrize("method", MANAGING)
def test_task_manager_may_manage(room: TaskRoom, ids: tuple[str, str], method: str) -> None:
    assert MANAGING[method](room.workspace, CHAIR, *ids) is not None


@pytest.mark.parametrize("who", [*NOT_MANAGERS, CHAIR])
@pytest.mark.parametrize("method", MANAGING)
def test_missing_objects_look_like_forbidden_ones(room: TaskRoom, method: str, who: str) -> None:
    for nothing in (NOTHING, "no id at all"):
        with pytest.raises(NotTaskManager) as caught:
            MANAGING[method](room.workspace, who, nothing, nothing)
        assert str(caught.value) == f"{who!r} is not the task-manager of {nothing!r}"


@pytest.mark.parametrize("who", NOT_MANAGERS)
@pytest.mark.parametrize("method", WRONG)
def test_ownership_is_checked_first(room: TaskRoom, ids: tuple[str, str], method: str, who: str) -> None:
    room.workspace.task_close(CHAIR, ids[0])
    with pytest.raises(NotTaskManager):
        WRONG[method](room.workspace, who, *ids)


@pytest.mark.parametrize("who", NOT_MEMBERS)
@pytest.mark.parametrize("method", MEMBERS)
def test_only_members_read_and_write(room: TaskRoom, ids: tuple[str, str], method: str, who: str) -> None:
    with pytest.raises(NotAMember) as caught:
        MEMBERS[method](room.workspace, who, *ids)
    assert str(caught.value) == f"{who!r} is not a member of {ids[1]!r}"
    assert room.said(room.workspace.conversation_get(ANN, ids[1])) == []
    with pytest.raises(NotAMember) as caught:
        MEMBERS[method](room.workspace, who, NOTHING, NOTHING)
    assert str(caught.value) == f"{who!r} is not a member of {NOTHING!r}", "as if it were there"


@pytest.mark.parametrize("who", [ANN, BEN])
@pytest.mark.parametrize("method", MEMBERS)
def test_members_may_and_the_initiator_is_a_member(
    room: TaskRoom, ids: tuple[str, str], method: str, who: str
) -> None:
    assert MEMBERS[method](room.workspace, who, *ids) is not None


def test_non_members_learn_nothing_from_any_call(room: TaskRoom, ids: tuple[str, str]) -> None:
    message = room.workspace.send(ANN, ids[1], "secret")
    room.workspace.archive(CHAIR, ids[1])
    for who in NOT_MEMBERS:
        with pytest.raises(NotAMember):
            room.workspace.send(who, ids[1], "", reply_to=message.id)
        with pytest.raises(NotAMember):
            room.workspace.mark_read(who, ids[1], NOTHING)
        with pytest.raises(NotAMember):
            room.workspace.history(who, ids[1], limit=0, cursor="x")
        assert ids[1] not in [it.id for it in room.workspace.conversation_list(who).items]


def test_leaving_changes_nothing_for_others(room: TaskRoom, ids: tuple[str, str]) -> None:
    for who in (EVE, CHAIR, OTHER):
        assert room.workspace.task_leave(who, ids[0]) is None
        assert room.workspace.task_leave(who, NOTHING) is None
    assert room.workspace.task_get(ANN, ids[0]).agents == (ANN, BEN, CYD)
    assert room.workspace.task_leave(CYD, ids[0]).agents == (ANN, BEN)


def test_lists_hold_only_objects_of_the_agent(room: TaskRoom, ids: tuple[str, str]) -> None:
    def tasks(who: str) -> set[str]:
        return {it.id for it in room.workspace.task_list(who).items}

    def conversations(who: str) -> set[str]:
        return {it.id for it in room.workspace.conversation_list(who).items}

    assert ids[0] in tasks(ANN) & tasks(BEN) & tasks(CYD) & tasks(CHAIR)
    assert ids[0] not in tasks(EVE) | tasks(OTHER)
    assert ids[1] in conversations(ANN) & conversations(BEN)
    assert ids[1] not in conversations(CYD) | conversations(CHAIR) | conversations(EVE) | conversations(OTHER)
    for who in (CYD, CHAIR):
        assert room.workspace.conversation_list(who, task_id=ids[0]).items == ()
    for who in (EVE, OTHER):
        with pytest.raises(NotAMember):
            room.workspace.conversation_list(who, task_id=ids[0])
        with pytest.raises(NotAMember):
            room.workspace.conversation_list(who, task_id=NOTHING)


def test_manager_may_also_be_a_participant(room: TaskRoom) -> None:
    conversation = room.conversation(CHAIR, ANN, task=room.task(CHAIR))
    room.workspace.send(CHAIR, conversation.id, "I am one of you")
    room.workspace.participants_remove(CHAIR, conversation.id, [CHAIR])
    with pytest.raises(NotAMember):
        room.workspace.history(CHAIR, conversation.id)


def test_task_is_shown_to_participants_and_manager_only(room: TaskRoom, ids: tuple[str, str]) -> None:
    for who in (ANN, CHAIR):
        assert room.workspace.task_get(who, ids[0].upper()).id == ids[0]
    for who, task in ((EVE, ids[0]), (ANN, NOTHING), (ANN, "x")):
        with pytest.raises(NotAMember):
            room.workspace.task_get(who, task)
