"""Asking for a task: the verdict of its task-manager decides, once, and fails closed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from scaling import patient
from sessions.task_room import ANN, APP, BEN, CHAIR, CYD, EVE, TaskRoom
from symposia.models.errors import (
    ConversationFullError,
    InvalidInput,
    ParticipantNotAdmittedError,
    TaskClosedError,
    TaskRejectedError,
)
from symposia.models.protocol.dialog import DialogStatus
from symposia.workspace.task_requests import ABANDONED_REASON, GRACE_MS
from symposia.workspace.values.task import TaskRequest, TaskStatus, Verdict


def only_task(room: TaskRoom, agent: str = ANN):
    (task,) = room.workspace.task_list(agent).items
    return task


def test_accepted_task_is_active_and_admits_everyone(room: TaskRoom) -> None:
    made = room.workspace.request_task(APP, ANN, [BEN, CYD, BEN, ANN])
    assert made.conversation is None
    assert made.task.status is TaskStatus.ACTIVE
    assert made.task.agents == (ANN, BEN, CYD)
    assert (made.task.created_by, made.task.task_manager, made.task.app) == (ANN, CHAIR, APP)
    assert only_task(room, BEN) == made.task


def test_request_waits_for_the_verdict(room: TaskRoom) -> None:
    seen: list[TaskRequest] = []

    def judge(request: TaskRequest) -> Verdict:
        seen.append(request)
        assert only_task(room).status is TaskStatus.WAITING
        return Verdict(accepted=True)

    room.verdict(judge)
    task = room.workspace.request_task(APP, ANN, [BEN], {"name": "A door"}).task
    (request,) = seen
    assert (request.task_id, request.app, request.initiator, request.invited) == (task.id, APP, ANN, (BEN,))
    assert request.initial_conversation.name == "A door"


def test_the_initial_conversation_comes_with_the_task(room: TaskRoom) -> None:
    hint = {"name": "A door", "participants": [ANN, BEN], "metadata": {"tags": [{"kind": "door"}]}}
    made = room.workspace.request_task(APP, ANN, [BEN, CYD], hint)
    conversation = room.workspace.conversation_get(BEN, made.conversation.id)
    assert conversation == made.conversation
    assert (conversation.task_id, conversation.agents) == (made.task.id, (ANN, BEN))
    assert conversation.created_at == made.task.updated_at, "both are of one transaction"
    assert conversation.to_wire() == {
        "id": conversation.id,
        "name": "A door",
        "createdBy": ANN,
        "metadata": {"tags": [{"kind": "door"}]},
        "createdAt": "2027-01-15T08:00:00.000Z",
        "updatedAt": "2027-01-15T08:00:00.000Z",
    }


def test_everyone_joins_the_first_conversation(room: TaskRoom) -> None:
    assert room.workspace.request_task(APP, ANN, [BEN, CYD], {}).conversation.agents == (ANN, BEN, CYD)


def test_initial_conversation_has_admitted_agents_only(room: TaskRoom) -> None:
    with pytest.raises(ParticipantNotAdmittedError, match=r"not participants of task .*'eve'"):
        room.workspace.request_task(APP, ANN, [BEN], {"participants": [ANN, EVE]})
    assert room.workspace.task_list(ANN).items == ()


def test_too_large_initial_conversation_is_refused(room: TaskRoom) -> None:
    with pytest.raises(ConversationFullError):
        room.workspace.request_task(APP, ANN, [f"a{number}" for number in range(256)], {})
    assert room.workspace.task_list(ANN).items == ()


async def slow_no(_request: TaskRequest) -> bool:
    await asyncio.sleep(0)
    return False


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (lambda _: Verdict(accepted=False, reason="no room"), "no room"),
        (lambda _: Verdict(accepted=False, reason="no \ud800"), "no ?"),
        (lambda _: False, "the task-manager rejected it"),
        (slow_no, "the task-manager rejected it"),
        (lambda _: 1 / 0, "the task-manager failed: ZeroDivisionError"),
        (lambda _: None, "the task-manager answered with something that is no verdict"),
        (lambda _: "yes", "the task-manager answered with something that is no verdict"),
        (lambda _: 1, "the task-manager answered with something that is no verdict"),
    ],
)
def test_any_answer_but_yes_rejects(room: TaskRoom, judge, reason: str) -> None:
    room.verdict(judge)
    with pytest.raises(TaskRejectedError) as caught:
        room.workspace.request_task(APP, ANN, [BEN], {})
    assert caught.value.reason == reason
    task = only_task(room)
    assert (task.status, task.reason, task.id) == (TaskStatus.FAILED, reason, caught.value.task_id)
    assert room.workspace.conversation_list(ANN).items == ()


def test_late_verdict_rejects_for_good(room: TaskRoom) -> None:
    late = threading.Event()
    room.verdict(lambda _: late.wait(patient(50)), timeout_s=0.05)
    with pytest.raises(TaskRejectedError, match=r"did not decide within 0\.05 s"):
        room.workspace.request_task(APP, ANN)
    late.set()
    assert only_task(room).status is TaskStatus.FAILED


def test_an_async_callable_decides_as_well(room: TaskRoom) -> None:
    async def judge(request: TaskRequest) -> bool:
        await asyncio.sleep(0)
        return request.initiator == ANN

    room.verdict(judge)
    assert room.task().status is TaskStatus.ACTIVE


def test_sweep_fails_a_request_left_by_a_crash(room: TaskRoom) -> None:
    def crash(_request: TaskRequest) -> bool:
        room.clock.now_ms += 30_000 + GRACE_MS
        assert room.workspace.count_abandoned() == 0
        assert room.workspace.fail_abandoned() == 0
        room.clock.now_ms += 1
        assert room.workspace.count_abandoned() == 1
        assert room.workspace.fail_abandoned() == 1
        assert room.workspace.fail_abandoned() == 0
        return True

    room.verdict(crash)
    with pytest.raises(TaskRejectedError, match=ABANDONED_REASON):
        room.workspace.request_task(APP, ANN, [BEN], {})
    assert only_task(room).status is TaskStatus.FAILED, "the verdict comes too late"
    assert room.workspace.count_abandoned() == 0


def test_task_that_everyone_left_early_is_closed(room: TaskRoom) -> None:
    def judge(request: TaskRequest) -> bool:
        room.workspace.task_leave(ANN, request.task_id)
        return True

    room.verdict(judge)
    with pytest.raises(TaskClosedError, match="is closed"):
        room.workspace.request_task(APP, ANN)


def test_agent_that_left_is_not_in_the_conversation(room: TaskRoom) -> None:
    def judge(request: TaskRequest) -> bool:
        room.workspace.task_leave(BEN, request.task_id)
        return True

    room.verdict(judge)
    made = room.workspace.request_task(APP, ANN, [BEN, CYD], {"participants": [ANN, BEN]})
    assert made.conversation.agents == (ANN,)
    assert made.conversation.dialog_status is DialogStatus.ACTIVE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((" ", ANN), "app: must not be blank"),
        ((APP, ""), "initiator: must not be blank"),
        ((APP, "a" * 201), "initiator: "),
        ((APP, "a\x00"), "initiator: must not contain NUL characters"),
        ((APP, ANN, "ben"), "invited: "),
        ((APP, ANN, [BEN, 7]), r"invited\[1\]: "),
        ((APP, ANN, [f"a{n}" for n in range(1_000)]), "invited: must have fewer than 1000 entries"),
        ((APP, ANN, [], "chat"), "initial_conversation: must be a table"),
        ((APP, ANN, [], {"name": ""}), r"initial_conversation\.name: "),
        ((APP, ANN, [], {"name": "x" * 101}), r"initial_conversation\.name: "),
        ((APP, ANN, [], {"type": "group"}), r"initial_conversation\.type: is not a known field"),
        (("nobody", ANN), "app: must be an app whose task-manager is registered in this process"),
    ],
)
def test_bad_task_request_is_refused_before_any_write(room: TaskRoom, arguments, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}"):
        room.workspace.request_task(*arguments)
    assert room.workspace.task_list(ANN).items == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", print), "app: must not be blank"),
        (("x", None), "verdict: "),
        (("x", print, None, 0), "timeout_s: must be more than 0"),
        (("x", print, None, 3_601), "timeout_s: "),
    ],
)
def test_a_task_manager_is_registered_by_rules(room: TaskRoom, arguments, said: str) -> None:
    app, verdict, *more = arguments
    named = dict(zip(("agent", "timeout_s"), more, strict=False))
    with pytest.raises(InvalidInput, match=said):
        room.managers.register(app, verdict, **named)
