"""`park`, `update` and `reply`: a turn that waits holds nothing, and one reply ends its wait."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from scaling import patient
from sessions.table import turn, until
from symposia.models.text.ids import format_timestamp
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import lock_key
from symposia.state.redis.readers import read_batches
from symposia.state.turns.parked import FAR_MS, ParkedTurnStore, Reply, ReplyRule

HOUR_MS = 3_600_000


@pytest.fixture
def parked(table):
    """A turn that is parked under the reply token `r`."""
    grant = table.grant(table.plan_one())
    assert table.park(grant, "r").word == "parked"
    return grant


def tend(table, number, *, reply="r", **more):
    done = {"wait": "{}", "wake_ms": 1, "until_ms": None, "event": "turn.reminded", **more}
    return ParkedTurnStore(table.client).update(table.id, number, reply, **done).word


def hold_lock(table, grant):
    """Gives the lock to a token that does not hold the turn."""
    table.client.set(lock_key(table.id, "floor"), f"{grant.token}|{FAR_MS}")


def test_parked_turn_holds_no_lock_but_its_grant(table, parked):
    assert table.owner() is None
    record = table.state().records[parked.number]
    assert (record.status, record.token, record.is_open) == ("parked", parked.token, True)
    assert table.outcomes() == []


def stream_bytes(table):
    keys = [table.key(part) for part in ("dialog", "events", "journal")]
    return [table.client.memory_usage(key, samples=0) or 0 for key in keys]


def test_streams_of_a_parked_session_are_small(table):
    number = table.plan_one()
    table.speak(number, "hello")
    grant = table.grant(table.plan_one())
    keys = [table.key(part) for part in ("dialog", "events", "journal")]
    before = [table.client.xrange(key) for key in keys]
    assert min(stream_bytes(table)) > 4_096
    assert table.park(grant, "r").word == "parked"
    assert max(stream_bytes(table)) < 4_096
    after = [table.client.xrange(key) for key in keys]
    assert [now[: len(then)] for now, then in zip(after, before, strict=True)] == before
    assert table.reply(grant.number, "r", "q", ["the answer"]).word == "replied"
    assert table.texts() == ["hello", "the answer"]
    assert not table.client.exists(table.key("spare"))


def test_large_streams_are_not_copied(table):
    number = table.plan_one()
    table.speak(number, "x" * 20_000)
    grant = table.grant(table.plan_one())
    before = stream_bytes(table)[0]
    assert table.park(grant, "r").word == "parked"
    dialog, events, journal = stream_bytes(table)
    assert dialog == before
    assert max(events, journal) < 4_096


@pytest.mark.parametrize("command", ["copy", "memory"])
def test_turns_are_parked_without_the_right_to_compact(table, redis_url, command):
    user = f"without-{command}"
    table.client.acl_setuser(
        user, enabled=True, nopass=True, keys=["*"], categories=["+@all"], commands=[f"-{command}"]
    )
    grant = table.grant(table.plan_one())
    try:
        with connect(redis_url.replace("://", f"://{user}:any@")) as client:
            asked = {"reply_token": "r", "wait": "{}", "until_in_ms": None, "wake_in_ms": FAR_MS}
            assert ParkedTurnStore(client).park(table.id, grant, **asked).word == "parked"
    finally:
        table.client.acl_deluser(user)
    assert table.reply(grant.number, "r", "q", ["the answer"]).word == "replied"


def test_blocked_reader_misses_no_event_of_a_parked_turn(table, redis_url):
    grant = table.grant(table.plan_one())
    journal = table.key("journal")
    last = table.client.xrevrange(journal, count=1)[0][0]

    def read(after):
        found = read_batches(reader.xread({journal: after}, block=20_000, count=1))
        return found[journal][0]

    with connect(redis_url) as reader, ThreadPoolExecutor() as thread:
        pending = thread.submit(read, last)
        until(lambda: table.client.info("clients")["blocked_clients"] >= 1)
        assert table.park(grant, "r").word == "parked"
        cursor, parked = pending.result(patient(20))
        pending = thread.submit(read, cursor)
        assert table.reply(grant.number, "r", "q", ["the answer"]).word == "replied"
        _, answered = pending.result(patient(20))
    assert [json.loads(it)["event_type"] for it in (parked, answered)] == ["turn.parked", "turn.answered"]


def test_only_the_holder_parks_its_turn(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    grant = table.grant(number)
    assert table.park(late, "x").word == "stale"
    assert [table.park(grant, "r").word for _ in range(3)] == ["parked"] * 3
    assert table.park(grant, "another").word == "stale"
    assert len(table.journal("turn.parked")) == 1


def test_lost_lease_or_turn_cannot_park(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    assert table.park(late, "r").word == "stale"
    table.grant(number)
    hold_lock(table, late)
    assert table.park(late, "r").word == "stale"
    table.expire()


def test_turn_without_a_holder_is_not_parked(table, parked):
    assert table.reply(parked.number, "r", "q", None).word == "returned"
    assert table.park(parked, "r").word == "stale", "the call that was sent again"
    again = table.grant(parked.number)
    table.fail(again)
    hold_lock(table, again)
    assert table.park(again, "r").word == "stale"
    table.expire()


def test_parking_a_written_turn_is_too_late(table):
    number = table.plan_one()
    late = table.expire_grant(number)
    table.speak(number, "said")
    assert table.park(late, "r").word == "done"
    table.plan_one()
    assert table.park(late, "r").word == "done"


def test_parked_turn_refuses_other_changes(table, parked):
    assert table.begin(parked.number).word == "waiting"
    assert not table.renew(parked)
    assert table.fail(parked).word == "stale"
    assert table.commit(parked, "on my own").word == "stale"
    assert table.texts() == []


def test_scope_of_a_parked_turn_is_free(table):
    one, two = table.plan(turn("ann"), turn("bob"))
    table.park(table.grant(one), "r")
    table.speak(two, "meanwhile")
    assert table.reply(one, "r", "q", ["later"]).word == "replied"
    assert table.texts() == ["meanwhile", "later"]


def test_due_work_is_claimed_by_one_worker(table):
    grant = table.grant(table.plan_one())
    table.park(grant, "r", wake_in_ms=1)
    assert until(lambda: table.begin(grant.number).word == "woken")
    assert table.begin(grant.number).word == "waiting"


def test_due_work_of_a_dead_worker_is_claimed_again(table):
    grant = table.grant(table.plan_one())
    table.park(grant, "r", wake_in_ms=1)
    assert until(lambda: table.begin(grant.number, lease_ms=30).word == "woken")
    assert until(lambda: table.begin(grant.number).word == "woken")


def test_sweep_dispatches_a_parked_turn_when_due(table):
    grant = table.grant(table.plan_one())
    due_ms = table.park(grant, "r", wake_in_ms=50).state.now_ms + 50
    answer = until(lambda: (a := table.sweep()).numbers and a)
    assert answer.numbers == (grant.number,)
    assert answer.state.now_ms >= due_ms


def test_reply_counts_until_the_deadline(table):
    grant = table.grant(table.plan_one())
    table.park(grant, "r", until_in_ms=HOUR_MS)
    assert table.reply(grant.number, "r", "q1", ["x"], rule=ReplyRule.DEADLINE).word == "early"
    assert tend(table, grant.number, until_ms=1) == "tended"
    assert table.reply(grant.number, "r", "q2", ["x"]).word == "late"
    assert table.reply(grant.number, "r", "q3", ["time is up"], rule=ReplyRule.DEADLINE).word == "replied"
    assert table.texts() == ["time is up"]


def test_a_turn_without_a_deadline_is_never_overdue(table, parked):
    assert table.reply(parked.number, "r", "q", ["x"], rule=ReplyRule.DEADLINE).word == "early"
    assert table.reply(parked.number, "r", "q", ["x"], rule=ReplyRule.FAILURE).word == "replied"


def test_old_token_is_invalid_after_a_new_one(table, parked):
    assert [tend(table, parked.number, new_token="n") for _ in range(2)] == ["tended", "tended"]
    assert tend(table, parked.number) == "gone"
    assert table.reply(parked.number, "r", "q", ["x"]).word == "foreign"
    assert table.reply(parked.number, "n", "q", ["y"]).word == "replied"


def test_update_without_an_event_records_none(table, parked):
    before = table.journal()
    assert tend(table, parked.number, event="") == "tended"
    assert table.journal() == before


def test_outside_event_is_recorded_after_the_wait(table, parked):
    table.reply(parked.number, "r", "q", ["at once"])
    about = {"participant_id": "ann", "attempt": 1}
    assert tend(table, parked.number, event="webhook.delivered", about=about, happened=True) == "gone"
    assert tend(table, parked.number) == "gone"
    (event,) = table.journal("webhook.delivered")
    assert event["data"] == {**about, "turn_number": parked.number}
    assert not table.journal("turn.reminded")


def test_outside_event_of_a_consumed_turn_is_recorded(table, parked):
    table.reply(parked.number, "r", "q", ["at once"])
    table.plan()
    about = {"participant_id": "eve"}
    assert tend(table, parked.number, event="webhook.delivered", about=about, happened=True) == "gone"
    assert tend(table, parked.number, new_token="n") == "gone"
    (event,) = table.journal("webhook.delivered")
    assert event["data"] == {"participant_id": "eve", "turn_number": parked.number}


def test_wait_events_name_participant_and_deadline(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    until_ms = (
        table.park(table.grant(one, scope="a"), "r", until_in_ms=HOUR_MS).state.records[1].parking.until_ms
    )
    table.park(table.grant(two, scope="b"), "s")
    assert tend(table, one, about={"participant_id": "eve"}) == "tended"
    told = [event["data"] for event in table.journal("turn.parked")]
    moment = datetime.fromtimestamp(until_ms / 1000, UTC)
    assert [data.get("until_time") for data in told] == [format_timestamp(moment), None]
    (reminded,) = table.journal("turn.reminded")
    assert reminded["data"]["participant_id"] == "ann"


def test_returned_turn_begins_with_a_new_token(table, parked):
    assert table.reply(parked.number, "r", "q", None).word == "returned"
    assert table.outcomes() == ["asked"]
    again = table.grant(parked.number)
    assert again.token != parked.token
    assert again.fence > parked.fence
    assert table.commit(parked, "late").word == "stale"
    assert table.commit(again, "with the answer").word == "committed"
    assert table.reply(parked.number, "r", "q2", ["x"]).word == "double"


def test_a_second_reply_while_suspended_is_refused(table, parked):
    table.suspend()
    assert table.reply(parked.number, "r", "q1", ["first"]).word == "held"
    assert table.reply(parked.number, "r", "q2", ["second"]).word == "double"
    assert table.reply(parked.number, "r", "q3", None).word == "double"
    assert table.reply(parked.number, "r", "q1", ["first"]).word == "held"
    table.resume()
    assert table.texts() == ["first"]


def test_a_second_reply_to_a_returned_turn_is_refused(table, parked):
    assert table.reply(parked.number, "r", "q1", None).word == "returned"
    assert table.reply(parked.number, "r", "q2", ["second"]).word == "double"
    table.grant(parked.number)
    assert table.reply(parked.number, "r", "q3", ["third"]).word == "double"
    assert table.texts() == []


def test_repeated_reply_is_known_by_its_request(table, parked):
    for request, word in (("q1", "replied"), ("q1", "replied"), ("q2", "double")):
        assert table.reply(parked.number, "r", request, ["said"]).word == word
    table.plan_one()
    for request, word in (("q1", "replied"), ("q2", "double")):
        assert table.reply(parked.number, "r", request, ["said"]).word == word
    assert table.texts() == ["said"]


def test_dropping_a_parked_turn_closes_its_grant(table, parked):
    table.plan(drop=(parked.number,))
    assert table.outcomes() == ["dropped"]
    assert table.reply(parked.number, "r", "q", ["x"]).word == "inactive"


def test_reply_to_an_unknown_turn_is_reported(table, parked):
    for number in (parked.number + 1, 99):
        assert table.reply(number, "r", "q", ["x"]).word == "unknown"
    table.cancel()
    table.client.flushall()
    client = ParkedTurnStore(table.client)
    assert table.park(parked, "r").word == "missing"
    assert (
        client.reply(table.id, Reply(1, "r", "q", ReplyRule.PERSON, wait="{}", outcome="asked")).word
        == "missing"
    )
    assert tend(table, 1) == "missing"


def test_reply_token_is_in_no_event(table, parked):
    assert '"r"' not in str(table.journal()) + str(table.events())
