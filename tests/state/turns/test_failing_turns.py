"""`fail`: a turn is given back, to be tried again or by another agent."""

import pytest

from sessions.table import turn, until
from symposia.models.sessions.plan import Step
from symposia.models.turns.turn import OutcomeKind
from symposia.state.redis.keys import lock_key
from symposia.state.sessions.requests import JournalNote


def test_a_failed_turn_is_tried_again(table):
    first = table.grant(table.plan_one())
    assert table.fail(first, error="timeout").word == "retried"
    second = table.grant(first.number)
    assert (second.failures, second.grants, second.takeovers) == (1, 2, 0)
    table.commit(second, "hello")
    assert table.texts() == ["hello"]
    failed, written = (payload["result"] for payload in table.payloads("MAPTurnCompleted"))
    assert failed == {"outcome": "failed", "messages": 0, "error": "timeout", "retried": True}
    assert written["outcome"] == "message"
    assert table.state().closed == 1


WHERE = JournalNote("turn.failed", {"turn_number": 1, "type": "ValueError", "at": "my_agents.py:12"})


def test_the_journal_keeps_where_an_attempt_failed(table):
    grant = table.grant(table.plan_one())
    for _ in range(2):  # the first answer was lost
        assert table.store.fail(table.id, grant, delay_ms=0, error="no", notes=(WHERE,)).word == "retried"
    assert [event["data"] for event in table.journal("turn.failed")] == [WHERE.data]


@pytest.mark.parametrize("held", [False, True])
def test_journal_keeps_the_place_of_the_last_failure(table, held):
    grant = table.grant(table.plan_one())
    if held:
        table.suspend()
    for _ in range(2):
        table.commit(grant, kind=OutcomeKind.SKIPPED, error="no", notes=(WHERE,))
    if held:
        assert table.journal("turn.failed") == []
        table.resume()
    assert [event["data"] for event in table.journal("turn.failed")] == [WHERE.data]


def test_failed_turn_cannot_begin_before_its_delay(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    table.fail(table.grant(one), delay_ms=60_000)
    assert table.begin(one).word == "early"
    due_ms = table.fail(table.grant(two), delay_ms=40).due_ms
    assert due_ms is not None
    granted = until(lambda: (a := table.begin(two)).word == "granted" and a)
    assert granted.state.now_ms >= due_ms


def test_substitute_starts_with_no_failures(table):
    number = table.plan_one()
    for _ in range(3):
        table.fail(table.grant(number))
    table.expire_grant(number)
    assert table.fail(table.grant(number), agent="stand-in").word == "retried"
    grant = table.grant(number)
    assert (grant.substitute, grant.failures, grant.takeovers) == ("stand-in", 0, 1)
    assert grant.grants == 6, "attempts are counted over all who tried"
    table.fail(grant)
    assert table.grant(number).substitute == "stand-in"


def test_only_the_holder_returns_a_turn(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    assert table.fail(late).word == "stale"
    grant = table.grant(number)
    assert table.fail(late).word == "stale"
    assert table.owner() == grant.token
    table.commit(grant, "hello")
    assert table.fail(grant).word == table.fail(late).word == "done"


def test_older_holder_returns_nothing(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    grant = table.grant(number)
    table.client.set(lock_key(table.id, "floor"), f"{late.token}|{table.state().now_ms}", px=60_000)
    assert table.fail(late).word == "stale"
    table.client.set(lock_key(table.id, "floor"), f"{grant.token}|{table.state().now_ms}", px=60_000)
    assert table.fail(grant).word == "retried"
    assert table.fail(late).word == "stale"


def test_repeated_failure_counts_once(table):
    grant = table.grant(table.plan_one())
    first, second = (table.fail(grant, delay_ms=60_000) for _ in range(2))
    assert (first.word, second.word) == ("retried", "retried")
    assert first.due_ms == second.due_ms
    assert table.state().records[grant.number].failures == 1
    assert table.outcomes() == ["failed"]


def test_late_failure_does_not_affect_the_next_attempt(table):
    first = table.grant(table.plan_one())
    table.fail(first)
    second = table.grant(first.number)
    assert table.fail(first).word == "stale"
    assert table.commit(first, "stale").word == "stale"
    assert table.commit(second, "hello").word == "committed"


def test_returned_turn_refuses_its_old_token(table):
    grant = table.grant(table.plan_one())
    table.fail(grant)
    assert table.commit(grant, "after all").word == "stale"
    assert table.texts() == []


def test_turn_may_be_returned_during_a_pause(table):
    grant = table.grant(table.plan_one())
    table.suspend()
    assert table.fail(grant).word == "retried"
    table.resume()
    assert table.begin(grant.number).word == "granted"


def test_failure_in_an_ended_session_changes_nothing(table):
    grant = table.grant(table.plan_one())
    table.cancel()
    assert table.fail(grant).word == "done"
    assert table.outcomes() == ["cancelled"]
    table.client.flushall()
    assert table.fail(grant).word == "missing"


def test_a_failed_turn_can_be_dropped(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    table.fail(table.grant(one))
    holder = table.grant(two)
    assert table.store.plan(table.id, table.write(Step(drop=(one,)))).word == "planned"
    assert table.owner() == holder.token
    assert table.outcomes() == ["failed"], "its grant was closed by the failure"
