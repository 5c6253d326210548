"""How long something of a session has been queued without a worker that takes it."""

from __future__ import annotations

import json

import pytest

from sessions.table import Table, until
from symposia.models.sessions.limits import ReservationRequest, UnitReservation
from symposia.models.text.ids import new_id
from symposia.state.sessions.live_sessions import queued_for_s


def shift(table: Table, seconds: int, number: int | None = None) -> None:
    """Lets what is queued look as if it had been queued earlier: a turn, or else the next step."""
    if number is None:
        table.client.hincrby(table.key("session"), "updated_ms", -1000 * seconds)
        return
    record = json.loads(table.client.hget(table.key("turns"), str(number)))
    record["queued_ms"] -= 1000 * seconds
    table.client.hset(table.key("turns"), str(number), json.dumps(record))


def shift_settled(table: Table, seconds: int, number: int) -> None:
    """Lets a closed turn look as if it had been closed earlier."""
    record = json.loads(table.client.hget(table.key("turns"), str(number)))
    record["settled_ms"] -= 1000 * seconds
    table.client.hset(table.key("turns"), str(number), json.dumps(record))


def queued(table: Table) -> float | None:
    return queued_for_s(table.state())


def test_a_new_session_is_queued_until_its_first_step(table: Table):
    shift(table, 5)
    assert queued(table) == pytest.approx(5, abs=4)
    table.plan_one()
    assert queued(table) < 5


def test_turn_is_queued_until_a_worker_begins_it(table: Table):
    number = table.plan_one()
    shift(table, 60, number)
    assert queued(table) >= 60
    until(lambda: table.sweep().numbers)
    assert queued(table) >= 60, "a message sent again changes nothing"
    grant = table.grant(number)
    assert queued(table) is None
    table.commit(grant, "hello")
    assert queued(table) < 60, "the next step is queued since the turn was closed"


def test_turn_of_a_lost_worker_is_queued_again(table: Table):
    number = table.plan_one()
    table.expire_grant(number)
    assert queued(table) is None
    until(lambda: table.sweep().numbers)
    assert queued(table) >= 0
    table.grant(number)
    assert queued(table) is None


def test_the_longest_wait_of_several_counts(table: Table):
    first, second = table.plan_one(scope="slot:a"), table.plan_one(scope="slot:b")
    shift(table, 60, first)
    assert queued(table) >= 60
    table.grant(first, scope="slot:a")
    assert queued(table) < 60
    table.grant(second, scope="slot:b")
    assert queued(table) is None


def test_retry_is_queued_after_its_delay(table: Table):
    number = table.plan_one()
    table.fail(table.grant(number), delay_ms=60_000)
    assert queued(table) is None
    shift(table, 65, number)
    assert queued(table) == pytest.approx(5, abs=4)


def test_a_deferred_turn_is_not_queued(table: Table):
    number = table.plan_one()
    table.store.defer(table.id, number, delay_ms=60_000)
    assert queued(table) is None


def test_running_turn_is_not_deferred(table: Table):
    grant = table.grant(table.plan_one())
    assert table.store.defer(table.id, grant.number, delay_ms=60_000).word == "done"
    assert table.commit(grant, "said").word == "committed"


def test_a_turn_that_waits_for_tokens_is_not_queued(table: Table):
    wish = ReservationRequest(tokens=UnitReservation(limit=100, most=60, least=60))
    first, second = table.plan_one(scope="slot:a"), table.plan_one(scope="slot:b")
    table.grant(first, scope="slot:a", limit_request=wish)
    assert table.begin(second, scope="slot:b", limit_request=wish).word == "short"
    assert queued(table) is None


def test_parked_turn_is_queued_only_when_due(table: Table):
    number, token = table.plan_one(), new_id()
    table.park(table.grant(number), token, wake_in_ms=0)
    assert queued(table) is None
    until(lambda: table.sweep().numbers)
    assert queued(table) >= 0
    assert table.begin(number).word == "woken"
    assert queued(table) is None
    table.reply(number, token, new_id(), None)
    assert queued(table) >= 0


def test_suspended_and_ended_sessions_are_not_queued(table: Table):
    table.plan_one()
    table.suspend()
    assert queued(table) is None
    table.resume()
    assert queued(table) >= 0
    table.cancel()
    assert queued(table) is None


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_suspended_time_does_not_count_as_queued(table: Table, is_closed: bool):
    number = table.plan_one()
    if is_closed:
        table.commit(table.grant(number), "hello")
    else:
        shift(table, 60, number)
    table.suspend()
    if is_closed:
        shift_settled(table, 60, number)
    table.resume()
    assert queued(table) < 60


def test_grant_records_the_wait_without_the_suspension(table: Table):
    waiting, suspended = table.plan_one(scope="slot:a"), table.plan_one(scope="slot:b")
    shift(table, 60, waiting)
    table.grant(waiting, scope="slot:a")
    shift(table, 60, suspended)
    table.suspend()
    table.resume()
    table.grant(suspended, scope="slot:b")
    records = table.state().records
    assert records[waiting].waited_ms >= 60_000
    assert records[suspended].waited_ms < 60_000


def test_resume_queues_only_queued_turns(table: Table):
    spoken, retried = table.plan_one(scope="slot:a"), table.plan_one(scope="slot:b")
    due_ms = table.fail(table.grant(retried, scope="slot:b"), delay_ms=60_000).due_ms
    table.grant(spoken, scope="slot:a")
    table.suspend()
    records = table.resume().records
    assert (records[spoken].queued_ms, records[retried].queued_ms) == (None, due_ms)
