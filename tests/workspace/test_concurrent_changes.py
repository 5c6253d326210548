"""Concurrent changes: unread counts are right, closed tasks take no message, and nothing blocks."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from itertools import count

import pytest

from scaling import patient
from sessions.task_room import ANN, BEN, CHAIR, CYD, TaskRoom
from symposia.models.errors import ConversationArchivedError, SymposiaError, TaskClosedError
from symposia.workspace.values.task import TaskStatus

WRITERS = READERS = 8
MESSAGES = 8


def at_once(*works: Callable[[], None]) -> None:
    """Run all of them in threads, started together; raise the first error."""
    begin = threading.Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            begin.wait(patient(30))
            work()
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patient(50))
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.long
def test_unread_counts_are_right_with_many_writers(room: TaskRoom) -> None:
    names = [f"agent{number}" for number in range(WRITERS)]
    conversation = room.conversation(*names, task=room.task(*names))
    reached: dict[str, int] = dict.fromkeys(names, 0)

    def write(name: str) -> Callable[[], None]:
        def work() -> None:
            for number in range(MESSAGES):
                room.workspace.send(name, conversation.id, f"{name} {number}")

        return work

    def read(name: str) -> Callable[[], None]:
        chance = random.Random(name)

        def work() -> None:
            for _ in range(MESSAGES):
                page = room.workspace.history(name, conversation.id, limit=20)
                (summary,) = room.workspace.conversation_list(name).items
                assert 0 <= summary.unread_count <= (WRITERS - 1) * MESSAGES
                if page.items:
                    message = chance.choice(page.items)
                    room.workspace.mark_read(name, conversation.id, message.id)
                    reached[name] = max(reached[name], message.number)

        return work

    at_once(*[write(name) for name in names], *[read(name) for name in names])
    page = room.workspace.history(names[0], conversation.id, limit=100)
    said = page.items
    assert [it.number for it in said] == list(range(1, WRITERS * MESSAGES + 1))
    assert len({it.id for it in said}) == WRITERS * MESSAGES
    for name in names:
        own = [it.text for it in said if it.sender == name]
        assert own == [f"{name} {number}" for number in range(MESSAGES)], "each in their own order"
        expected = sum(it.sender != name for it in said[reached[name] :])
        (summary,) = room.workspace.conversation_list(name).items
        assert summary.unread_count == expected
        assert room.workspace.mark_read(name, conversation.id) == 0


@pytest.mark.long
def test_closed_task_takes_no_message(room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN, CYD)
    sent: list[str] = []
    refused: list[SymposiaError] = []
    under_way = threading.Event()

    def write(name: str) -> Callable[[], None]:
        def work() -> None:
            for number in count():
                try:
                    sent.append(room.workspace.send(name, conversation.id, f"{name} {number}").text)
                except (TaskClosedError, ConversationArchivedError) as error:
                    refused.append(error)
                    return
                if number == 5:
                    under_way.set()

        return work

    def close() -> None:
        under_way.wait(patient(50))
        room.workspace.task_close(CHAIR, conversation.task_id)

    at_once(write(ANN), write(BEN), close)
    assert sorted(room.said(conversation, CYD)) == sorted(sent)
    assert [type(it) for it in refused] == [TaskClosedError] * 2, "the task is looked at first"


def test_concurrent_leaves_close_the_task_once(room: TaskRoom) -> None:
    names = [ANN, *(f"agent{number}" for number in range(7))]
    task = room.task(*names[1:])
    for _ in range(2):
        room.conversation(*names, task=task)
    seen: list[TaskStatus] = []
    leaving = [
        lambda name=name: seen.append(room.workspace.task_leave(name, task.id).status) for name in names
    ]
    at_once(*leaving)
    assert sorted(seen) == sorted([TaskStatus.ACTIVE] * 7 + [TaskStatus.CLOSED])
    assert room.workspace.task_list(CHAIR).items[0].agents == ()


def test_last_member_places_are_given_once(room: TaskRoom) -> None:
    names = [f"agent{number:03}" for number in range(260)]
    task = room.task(*names)
    conversation = room.conversation(*names[:252], task=task)
    added: list[str] = []

    def add(name: str) -> Callable[[], None]:
        def work() -> None:
            try:
                room.workspace.participants_add(CHAIR, conversation.id, [name])
                added.append(name)
            except SymposiaError as error:
                assert "at most 256" in str(error)  # noqa: PT017 - the others are added

        return work

    at_once(*[add(name) for name in names[252:]])
    assert len(added) == 4
    assert len(room.workspace.conversation_get(names[0], conversation.id).agents) == 256


def test_crossing_changes_do_not_block(room: TaskRoom) -> None:
    task = room.task(BEN, CYD)
    conversations = [room.conversation(ANN, BEN, CYD, task=task) for _ in range(3)]

    def churn() -> None:
        for _ in range(6):
            room.workspace.task_remove_participant(CHAIR, task.id, CYD)
            room.workspace.task_add_participant(CHAIR, task.id, CYD)
            for it in reversed(conversations):
                room.workspace.participants_add(CHAIR, it.id, [CYD])

    def shelve() -> None:
        for it in conversations * 3:
            room.workspace.archive(CHAIR, it.id)
            room.workspace.unarchive(CHAIR, it.id)

    def talk() -> None:
        for it in conversations * 4:
            try:
                room.workspace.send(ANN, it.id, "x")
            except ConversationArchivedError:
                continue

    at_once(churn, shelve, talk, talk)
    assert all(room.workspace.conversation_get(ANN, it.id).agents == (ANN, BEN, CYD) for it in conversations)
