"""The end of a session: every grant is closed, the last event is written, and the keys expire."""

import pytest

from checks import ledger
from sessions.table import RETENTION_MS, turn, until
from symposia.models.turns.turn import Usage
from symposia.state.redis.keys import lock_key, session_key

#: The time that is left to each key, all read at one instant.
LEFT = "local left = {} for i, key in ipairs(KEYS) do left[i] = redis.call('PTTL', key) end return left"
PARTS = ("session", "dialog", "events", "journal", "turns", "board")


def ends(table):
    return {"cancel": table.cancel, "finish": table.finish}


@pytest.mark.parametrize("how", ["cancel", "finish"])
def test_keys_of_an_ended_session_expire_together(table, how):
    table.plan(turn("ann"), turn("bob", "b"), board=())
    table.speak(1, "hello")
    table.grant(2, scope="b")
    table.client.hset(table.key("board"), "i", "{}")
    ends(table)[how]()
    keys = [session_key(table.id, part) for part in PARTS]
    assert len(set(table.client.eval(LEFT, len(keys), *keys))) == 1
    assert 0 < table.client.pttl(table.key("session")) <= RETENTION_MS


def test_ended_session_leaves_no_key(table):
    grant = table.grant(table.plan_one())
    table.cancel(retention_ms=20)
    table.commit(grant, "noted, and that must not outlive the rest")
    until(lambda: not list(table.client.scan_iter("symposia:*")))
    assert table.commit(grant, "later").word == "missing"
    assert table.fail(grant).word == "missing"
    assert not table.renew(grant)
    assert not list(table.client.scan_iter("symposia:*"))


def test_running_session_does_not_expire(table):
    table.speak(table.plan_one(), "hello")
    table.suspend()
    assert {table.client.ttl(key) for key in table.client.scan_iter("symposia:*")} == {-1}


@pytest.mark.parametrize("how", ["cancel", "finish"])
def test_late_usage_of_an_open_turn_counts_at_the_end(table, how):
    grant = table.grant(table.plan_one())
    table.fail(grant)
    table.store.book_usage(table.id, grant, {grant.token: Usage(output_tokens=7)})
    ends(table)[how]()
    assert ledger.check_truths(table.client, table.id).journal[-1]["event_type"].startswith("session.")
    assert table.state().usage == Usage(output_tokens=7)


@pytest.mark.parametrize("how", ["cancel", "finish"])
def test_end_remembers_the_newest_64_open_turns(table, how):
    for _ in range(10):
        table.plan(*[turn("ann")] * 7)
    ends(table)[how]()
    records = table.state().records
    assert list(records) == list(range(7, 71))
    assert {record.status for record in records.values()} == {"dropped"}


@pytest.mark.parametrize("how", ["cancel", "finish"])
def test_completed_event_is_last(table, how):
    scopes = ("a", "b", "c", "d")
    numbers = table.plan(*(turn("ann", scope) for scope in scopes))
    table.speak(numbers[0], "hello", scope="a")
    table.grant(numbers[1], scope="b")
    table.grant(numbers[2], scope="c")
    table.expire("c")
    ends(table)[how]()
    assert sorted(table.outcomes()) == ["cancelled", "cancelled", "message"]
    assert table.kinds()[-1] == "MAPSessionCompleted"
    assert not [scope for scope in scopes if table.client.exists(lock_key(table.id, scope))]
    assert not table.state().open_turns()


def test_a_written_turn_stays_written(table):
    grant = table.grant(table.plan_one())
    table.commit(grant, "said")
    assert table.cancel().records[grant.number].status == "closed"
    assert table.commit(grant, "said").word == "done"


def test_cancel_reason_is_stored_and_reported(table):
    state = table.cancel(reason="too_expensive", detail="over 10 €")
    assert (state.reason, state.detail, state.is_final) == ("too_expensive", "over 10 €", True)
    (told,) = table.payloads("MAPSessionCompleted")
    expected = {"status": "cancelled", "reason": "too_expensive", "detail": "over 10 €", "turns": 0}
    assert told == expected
    assert state.ended_ms == state.updated_ms <= state.now_ms


def test_an_ended_session_can_still_be_read(table):
    table.speak(table.plan_one(), "hello")
    table.finish()
    state = table.state()
    assert (state.status, state.closed, state.messages, table.texts()) == ("completed", 1, 1, ["hello"])
    assert table.store.documents(table.id)


def test_no_call_reactivates_an_ended_session(table):
    one, two = table.plan(turn("ann"), turn("bob", "b"))
    grant = table.grant(one)
    table.finish()
    before = table.client.hgetall(table.key("session"))
    assert table.begin(two, scope="b").word == "inactive"
    assert table.commit(grant, "hello").word == "inactive"
    assert table.fail(grant).word == "done"
    assert table.sweep().word == "ended"
    assert table.open().word == "exists"
    after = table.client.hgetall(table.key("session"))
    assert {**after, "notes": 0} == {**before, "notes": 0}, "only a note says that somebody came too late"
    assert table.texts() == []
