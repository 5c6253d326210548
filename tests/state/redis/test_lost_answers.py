"""A client sends a command again when its answer was lost: the second answer must do as well as the first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from servers.lossy import Wire, lossy_wire
from sessions.table import Table, turn
from symposia.models.sessions.plan import Finish, Step
from symposia.models.text.ids import new_id
from symposia.state.redis.connect import connect
from symposia.state.sessions.store import SessionStore


@pytest.fixture
def wire(redis_url: str) -> Iterator[Wire]:
    with lossy_wire(redis_url) as wire:
        yield wire


@pytest.fixture
def unlucky(client: Redis, wire: Wire) -> Iterator[Table]:
    """A table whose every script is run twice, because its first answer gets lost."""
    table = Table(client)
    with connect(wire.url) as losing:
        table.store = SessionStore(losing)
        yield table


def test_every_call_may_be_repeated(unlucky, wire):
    table = unlucky
    assert table.open().word == "exists"
    write = table.write(Step(turns=(turn("ann"), turn("bob", "b"))))
    answer = table.store.plan(table.id, write)
    assert (answer.word, answer.state.planned_by) == ("outdated", write.plan_id)

    grant, other = table.grant(1), table.grant(2, scope="b")
    assert (grant.fence, other.fence) == (1, 2)
    assert table.renew(grant)
    assert table.commit(grant, "once").word == "done"
    assert table.fail(other, delay_ms=0).word == "retried"

    assert table.suspend().status == "suspended"
    assert table.resume().status == "active"
    assert table.store.request_stop(table.id).stop_requested
    assert table.cancel(reason="enough").reason == "enough"
    assert wire.lost == 13, "one for every script that was called"
    assert table.texts() == ["once"]
    assert table.outcomes() == ["message", "failed"]
    steps = ["created", "active", "suspended", "active", "stop.requested", "cancelled"]
    assert [event["event_type"] for event in table.journal()] == [f"session.{step}" for step in steps]


def test_a_held_commit_may_be_sent_twice(unlucky):
    unlucky.store.plan(unlucky.id, unlucky.write(Step(turns=(turn(),))))
    grant = unlucky.grant(1)
    unlucky.suspend()
    assert unlucky.commit(grant, "once").word == "held"
    unlucky.resume()
    assert unlucky.texts() == ["once"]


def test_commit_that_ends_a_session_may_be_repeated(unlucky):
    unlucky.store.plan(unlucky.id, unlucky.write(Step(turns=(turn(),))))
    grant = unlucky.grant(1)
    ending = unlucky.write(Finish(reason="satisfied"), after=grant.number)
    answer = unlucky.commit(grant, "once", then=ending)
    assert (answer.word, answer.state.status, answer.state.planned_by) == (
        "done",
        "completed",
        ending.plan_id,
    )
    assert unlucky.texts() == ["once"]


def test_change_by_another_client_is_not_a_retry(table):
    args = {"request": new_id(), "by": ""}
    assert table.store._run("sessions/suspend", table.id, args).word == "suspended"
    assert table.store._run("sessions/suspend", table.id, args).word == "suspended"
    assert table.store._run("sessions/suspend", table.id, args | {"request": new_id()}).word == "refused"
    table.resume()
    assert table.store._run("sessions/resume", table.id, args).word == "refused"
