"""`record_hit`: a refused answer and its event are written together, once, by the holder of the turn."""

from __future__ import annotations

import dataclasses
import json

import pytest

from symposia.models.text.ids import new_id
from symposia.state.redis.keys import calls_key, lock_key, session_key
from symposia.state.turns.journal import GuardHit, record_hit


@pytest.fixture
def grant(table):
    return table.grant(table.plan_one())


def record(table, grant, number=1):
    hit = GuardHit(number, {"guard": "short"}, {f"guard:{number}": "{}"})
    return record_hit(table.client, table.id, grant, hit, hit.answer)


def events(table):
    entries = table.client.xrange(session_key(table.id, "journal"))
    found = [json.loads(fields["e"]) for _, fields in entries]
    return [it["data"] for it in found if it["event_type"] == "guard.hit"]


def stored(table, grant):
    return table.client.hgetall(calls_key(table.id, grant.number))


def test_hit_and_answer_are_written_together(table, grant):
    assert record(table, grant)
    assert events(table) == [{"guard": "short"}]
    assert stored(table, grant) == {"guard:1": "{}"}
    assert table.client.pttl(calls_key(table.id, grant.number)) > 0


def test_repeated_hit_is_written_once(table, grant):
    assert record(table, grant)
    assert record(table, grant)
    assert len(events(table)) == 1


def test_second_hit_of_an_attempt_is_written(table, grant):
    assert record(table, grant)
    assert record(table, grant, 2)
    assert len(events(table)) == 2


def test_hit_of_another_token_is_refused(table, grant):
    assert not record(table, dataclasses.replace(grant, token=new_id()))
    assert (events(table), stored(table, grant)) == ([], {})


def test_hit_of_a_consumed_turn_is_refused(table, grant):
    table.commit(grant, "x")
    table.plan()
    assert not record(table, grant)
    assert events(table) == []


def test_token_of_another_turn_is_refused(table, grant):
    table.expire()
    other = table.grant(table.plan_one())
    assert not record(table, dataclasses.replace(grant, token=other.token))
    assert record(table, other)


def test_hit_without_the_lock_is_refused(table, grant):
    table.client.delete(lock_key(table.id, grant.scope))
    assert not record(table, grant)
    assert (events(table), stored(table, grant)) == ([], {})


def test_hit_of_a_parked_turn_is_refused(table, grant):
    table.park(grant, "r")
    table.client.set(lock_key(table.id, grant.scope), f"{grant.token}|9999999999999")
    assert not record(table, grant)
    assert events(table) == []
    table.client.delete(lock_key(table.id, grant.scope))


def test_hit_of_a_missing_session_is_refused(table, grant):
    table.client.delete(session_key(table.id, "session"))
    assert not record(table, grant)
    table.client.delete(*table.client.scan_iter(f"symposia:{{{table.id}}}:*"))
