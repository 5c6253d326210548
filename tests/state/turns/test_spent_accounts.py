"""Usage of attempts is counted once and reported once, also if it arrives late."""

from __future__ import annotations

import json

import pytest

from sessions.table import turn
from symposia.models.sessions.plan import Step
from symposia.models.turns.turn import Usage

NONE = Usage()


def tokens(amount):
    return Usage(output_tokens=amount)


def spend(table, grant, amount, *, token=None):
    return table.store.book_usage(table.id, grant, {token or grant.token: tokens(amount)})


def reported_tokens(table):
    """Return the output tokens reported late in the journal, in order."""
    return [event["data"]["usage"]["output_tokens"] for event in table.journal("turn.spent")]


def consume(table, grant, **speech):
    """Writes a turn and plans on, so that its record is gone."""
    then = table.write(Step(turns=(turn("bob"),)), after=grant.number)
    assert table.commit(grant, "said", then=then, **speech).word == "committed"


@pytest.fixture
def attempts(table):
    """Two grants of a turn; the first was lost."""
    number = table.plan_one()
    return table.expire_grant(number), table.grant(number)


def test_account_counts_once_and_never_decreases(table, attempts):
    late, grant = attempts
    for amount, total in ((10, 10), (10, 10), (15, 15), (12, 15)):
        spend(table, late, amount)
        assert table.state().usage == tokens(total)
    table.commit(grant, "said", usage=tokens(5), others={late.token: tokens(15)})
    assert table.state().usage == tokens(20)
    results = [payload["result"] for payload in table.payloads("MAPTurnCompleted")]
    assert results[1]["usage"] == tokens(20).model_dump()


def test_each_event_has_usage_not_reported_before(table):
    number = table.plan_one()
    first = table.grant(number)
    table.store.fail(table.id, first, delay_ms=0, error="no", spent={first.token: tokens(7)})
    second = table.grant(number)
    table.commit(second, "said", usage=tokens(5))
    usages = [payload["result"]["usage"] for payload in table.payloads("MAPTurnCompleted")]
    assert usages == [tokens(7).model_dump(), tokens(5).model_dump()]


@pytest.mark.parametrize("amount", [0, 5])
def test_reported_usage_of_an_older_session_counts(table, amount):
    number = table.plan_one()
    first = table.grant(number)
    table.store.fail(table.id, first, delay_ms=0, error="no", spent={first.token: tokens(7)})
    stored = table.client.hget(table.key("turns"), str(number))
    assert '"reported"' in stored
    table.client.hset(table.key("turns"), str(number), stored.replace('"reported"', '"told"'))
    table.commit(table.grant(number), "said", usage=tokens(amount))
    usages = [payload["result"]["usage"] for payload in table.payloads("MAPTurnCompleted")]
    assert usages == [tokens(7).model_dump(), tokens(amount).model_dump()]
    spend(table, first, 9)
    assert reported_tokens(table) == [2]


def test_turn_without_usage_reports_zero(table):
    table.speak(table.plan_one(), "said")
    (payload,) = table.payloads("MAPTurnCompleted")
    assert payload["result"]["usage"] == NONE.model_dump()


def test_usage_after_a_commit_is_in_the_journal(table, attempts):
    late, grant = attempts
    table.commit(grant, "said")
    spend(table, late, 10)
    assert (reported_tokens(table), table.state().usage) == ([10], tokens(10))
    spend(table, late, 10)
    assert reported_tokens(table) == [10]


def test_usage_after_consumption_is_in_the_journal(table, attempts):
    late, grant = attempts
    consume(table, grant, usage=tokens(5))
    spend(table, late, 10)
    spend(table, late, 12)
    assert (reported_tokens(table), table.state().usage) == ([10, 2], tokens(17))


def test_usage_after_a_drop_is_in_the_journal(table, attempts):
    late, grant = attempts
    table.plan(drop=(grant.number,))
    spend(table, late, 10)
    assert reported_tokens(table) == [10]


def test_usage_after_the_record_of_a_dropped_turn_is_removed_is_booked(table, attempts):
    late, grant = attempts
    table.plan(drop=(grant.number,))
    spend(table, late, 10)
    record = json.loads(table.client.hget(table.key("turns"), str(grant.number)))
    record["settled_ms"] -= 600_001
    table.client.hset(table.key("turns"), str(grant.number), json.dumps(record))
    table.sweep()
    assert grant.number not in table.state().records
    spend(table, late, 12)
    assert table.commit(grant, "very late", usage=tokens(5)).word == "stale"
    assert (reported_tokens(table), table.state().usage) == ([10, 2, 5], tokens(17))


def test_usage_of_an_open_turn_waits_for_its_end(table, attempts):
    late, _ = attempts
    spend(table, late, 10)
    assert reported_tokens(table) == []


def test_usage_of_a_long_past_turn_is_not_booked(table, attempts):
    late, grant = attempts
    consume(table, grant)
    key = table.key("session")
    table.client.hset(key, "spent:1", table.client.hget(key, "spent:1").replace('"1"', '"65"'))
    spend(table, late, 10)
    assert (reported_tokens(table), table.state().usage) == ([], NONE)


def test_turn_of_one_attempt_leaves_no_account(table):
    consume(table, table.grant(table.plan_one()))
    fields = table.client.hkeys(table.key("session"))
    assert not [name for name in fields if name.startswith(("spent:", "reserved_"))]


def test_token_of_another_turn_cannot_commit_again(table):
    grant = table.grant(table.plan_one())
    consume(table, grant)
    table.client.hset(table.key("session"), "token:1", f"65|{grant.token}")
    assert table.commit(grant, "again").word == "stale"
