"""The newest messages that a process keeps: a turn sees what it would see without them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

import pytest

from sessions.table import Table, turn
from symposia.models.protocol.dialog import Message
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.tasks.runtime.dialog_tails import DialogTails


@pytest.fixture
def table(redis_url: str) -> Iterator[Table]:
    with connect(redis_url) as client:
        yield Table(client, names=("ann", "bob"))


class Reader:
    """Grants turns to processes that keep messages, and compares what they read with the dialog."""

    def __init__(self, table: Table, tails: DialogTails) -> None:
        self.table, self.tails = table, tails

    def speak(self, window: int, *texts: str, snapshot: bool = False, late: str = "") -> tuple[int, bool]:
        """Run a turn; return how many messages Redis has sent, and whether they continue those in memory."""
        table = self.table
        before = [text for _, text in self.entries()]
        if late:
            number, other = table.plan(
                turn("ann", "slot:ann", snapshot=snapshot), turn("bob", "slot:bob", snapshot=snapshot)
            )
            table.speak(other, late, scope="slot:bob")
            scope = "slot:ann"
        else:
            number, scope = table.plan_one(snapshot=snapshot), "floor"
        tail = self.tails.tail(table.id, window)
        grant = table.grant(number, scope=scope, window=window, seen=tail and tail.newest)
        read = self.tails.read(table.id, grant, window, tail)
        visible = before if snapshot else [text for _, text in self.entries()]
        assert read == tuple(map(Message.model_validate_json, visible[-window:] if window else []))
        table.commit(grant, *texts)
        return len(grant.messages), grant.continues

    def entries(self) -> list[tuple[str, str]]:
        entries = self.table.client.xrange(session_key(self.table.id, "dialog"))
        return [(entry_id, next(iter(fields.values()))) for entry_id, fields in entries]


@pytest.mark.parametrize("seed", range(30))
def test_turns_see_what_they_would_see_without_memory(table, seed):
    chance, numbers = random.Random(seed), count()
    processes = [Reader(table, DialogTails(limit=chance.choice((2_000, 10**6)))) for _ in range(2)]
    for _ in range(12):
        texts = [f"message {next(numbers)}" for _ in range(chance.randint(0, 3))]
        late = f"late {next(numbers)}" if chance.random() < 0.3 else ""
        window = chance.choice((0, 1, 3, 3, 8))
        chance.choice(processes).speak(window, *texts, snapshot=chance.random() < 0.5, late=late)


def test_only_new_messages_are_sent(table):
    reader = Reader(table, DialogTails())
    reader.speak(5, *"abc")
    assert reader.speak(5, "d", "e") == (3, False)
    assert reader.speak(5, "f") == (2, True)
    assert reader.speak(3, "g") == (1, True), "a smaller window is served"
    assert reader.speak(6) == (6, False), "a larger one is read whole"


def test_message_that_a_failover_has_replaced_is_read_again(table):
    reader = Reader(table, DialogTails())
    reader.speak(5, "first", "lost")
    reader.speak(5)
    key, entries = session_key(table.id, "dialog"), table.client.xrange(session_key(table.id, "dialog"))
    table.client.delete(key)
    for entry_id, fields in entries:
        table.client.xadd(
            key, {name: text.replace("lost", "other") for name, text in fields.items()}, entry_id
        )
    assert reader.speak(5) == (2, False)


def test_agents_get_their_own_copy_of_data_that_they_could_change(table):
    tails = DialogTails()
    grant = table.grant(table.plan_one())
    message = Message.model_validate_json(table.speech(grant, "text").messages[0])
    table.commit(grant, "text", messages=(message.with_output({"total": 1}).to_json(),))
    for _ in range(3):
        tail = tails.tail(table.id, 5)
        grant = table.grant(table.plan_one(), window=5, seen=tail and tail.newest)
        (read,) = tails.read(table.id, grant, 5, tail)
        assert read.output == {"total": 1}
        read.output["total"] = 2
        table.commit(grant)


def test_data_that_turns_share_cannot_be_changed(table):
    table.speak(table.plan_one(), "text")
    grant = table.grant(table.plan_one(), window=5)
    (message,) = DialogTails().read(table.id, grant, 5, None)
    with pytest.raises(TypeError, match="cannot be changed"):
        message.event.data["participant_id"] = "eve"
    assert message.changed(content="other").turn_number == 1
    copied = message.model_copy(deep=True)
    copied.event.data["participant_id"] = "eve"
    assert message.speaker != copied.speaker
    assert Message.model_validate_json(message.to_json()) == message
