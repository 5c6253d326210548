"""The board has the places of the messages of work items for which others may wait."""

from __future__ import annotations

import pytest
from redis import Redis

from sessions.table import Table, turn


def place(table: Table) -> str | None:
    ((_, place),) = table.store.items(table.id, ["i1"])
    return place


@pytest.fixture
def number(table: Table) -> int:
    """An indexed turn."""
    return table.plan(turn("ann", "item:i1", indexed=True))[0]


def test_place_is_that_of_the_last_message(table: Table, client: Redis, number: int) -> None:
    table.speak(number, "one", "two", scope="item:i1")
    *_, (last, _) = client.xrange(table.key("dialog"))
    assert place(table) == last


def test_turn_without_a_message_has_no_place(table: Table, number: int) -> None:
    table.speak(number, scope="item:i1")
    assert place(table) is None


def test_other_turn_has_no_place(table: Table, client: Redis) -> None:
    (number,) = table.plan(turn("ann", "item:i1"))
    table.speak(number, "one", scope="item:i1")
    assert not client.exists(table.key("board"))


def test_reply_needs_no_place(table: Table, number: int) -> None:
    table.park(table.grant(number, scope="item:i1"), "r")
    assert table.reply(number, "r", "q", ["one"]).word == "replied"
    assert (table.texts(), place(table)) == (["one"], None)
