"""The cost of a page of conversations depends on its size only: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from checks.machine_steps import EVERY, steps
from sessions.task_room import ANN, BEN, TaskRoom
from symposia.archive.archive import Archive
from symposia.models.protocol.dialog import Message, Role
from symposia.models.text.ids import new_id
from symposia.workspace.sql.messages import append_messages, lock_conversation_row
from symposia.workspace.sql.store import deliver_to_conversation
from symposia.workspace.values.conversation import Conversation, IncomingMessage

FEW, MANY = 200, 2_000

Page = Callable[[], Any]


def pages(archive: Archive, messages: int) -> dict[str, Page]:
    """Pages of conversations of which the first one has that many messages."""
    room = TaskRoom(archive)
    large, *_ = (room.conversation(ANN, BEN) for _ in range(3))
    fill(archive, large, messages)
    first = room.workspace.conversation_list(BEN, limit=1).cursor
    middle = room.workspace.history(BEN, large.id, limit=100).cursor
    room.workspace.send(ANN, large.id, "Something new.")
    return {
        "first": lambda: room.workspace.conversation_list(BEN, limit=1),
        "behind a cursor, while others say something": lambda: room.workspace.conversation_list(
            BEN, limit=1, cursor=first
        ),
        "of history": lambda: room.workspace.history(BEN, large.id),
        "of history, behind a cursor": lambda: room.workspace.history(BEN, large.id, cursor=middle),
        "to read": lambda: room.workspace.mark_read(BEN, large.id),
    }


def fill(archive: Archive, conversation: Conversation, messages: int) -> None:
    said = Message(role=Role.AGENT, content="Blue?")
    with archive.database.writing() as connection:
        into = lock_conversation_row(connection, conversation.id)
        append_messages(connection, into, [IncomingMessage(new_id(), said, it) for it in range(messages)])


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Archive, dict[str, Page]]]]:
    """Few messages, and ten times as many."""
    folder = tmp_path_factory.mktemp("archives")
    few, many = (
        Archive(f"sqlite:///{folder / name}", deliver_to_conversation) for name in ("few.db", "many.db")
    )
    with closing(few), closing(many):
        yield [(few, pages(few, FEW)), (many, pages(many, MANY))]


@pytest.mark.parametrize(
    "name",
    [
        "first",
        "behind a cursor, while others say something",
        "of history",
        "of history, behind a cursor",
        "to read",
    ],
)
def test_page_cost_does_not_grow_with_the_history(
    archives: list[tuple[Archive, dict[str, Page]]], name: str
) -> None:
    few, many = (steps(archive, asked[name]) for archive, asked in archives)
    assert many <= 2 * few + 10 * EVERY
