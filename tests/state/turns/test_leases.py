"""`renew`, and expired leases."""

import json

from sessions.table import RETENTION_MS, turn, until
from symposia.models.sessions.plan import Step

YEAR_2100_MS = 4_102_444_800_000


def test_the_owner_keeps_its_lease(table):
    grant = table.grant(table.plan_one(), lease_ms=5_000)
    assert table.renew(grant, lease_ms=20_000)
    assert 5_000 < table.lease_ms() <= 20_000


def test_unrenewed_lease_expires(table):
    number = table.plan_one()
    late = table.grant(number, lease_ms=5)
    until(lambda: table.owner() is None)
    assert not table.renew(late)
    assert table.commit(late, "too late").word == "stale"
    assert table.grant(number).takeovers == 1


def test_only_the_owner_renews(table):
    number = table.plan_one()
    late = table.grant(number)
    table.expire()
    grant = table.grant(number, lease_ms=5_000)
    assert not table.renew(late, lease_ms=60_000)
    assert table.lease_ms() <= 5_000
    assert table.renew(grant)


def test_lease_of_a_lost_worker_ends_at_once(table):
    number = table.plan_one()
    late = table.grant(number, process="w@host/1-a")
    record = table.state().records[number]
    assert record.process == "w@host/1-a"
    assert table.store.release_lost(table.id, record, "w@host/1-a")
    assert not table.store.release_lost(table.id, record, "w@host/1-a"), "only once"
    assert table.commit(late, "too late").word == "stale"
    grant = table.grant(number)
    assert (grant.takeovers, grant.took_over) == (1, True)
    assert table.state().records[number].process is None
    assert not table.store.release_lost(table.id, record, "w@host/1-a"), "another worker has the turn"
    assert table.renew(grant)
    ended = [it["result"] for it in table.payloads("MAPTurnCompleted")]
    assert [it.get("lost_worker") for it in ended] == ["w@host"]
    table.commit(grant, "taken over")
    table.plan()
    assert not table.store.release_lost(table.id, record, "w@host/1-a"), "the turn is consumed"


def test_holder_that_an_earlier_release_granted_is_unknown(table):
    """Its `begin` leaves the process of the grant before in the record."""
    number = table.plan_one()
    table.grant(number, process="w@host/1-a")
    raw = json.loads(table.client.hget(table.key("turns"), number))
    raw["process"] = "an-earlier-token w@host/1-a"
    table.client.hset(table.key("turns"), number, json.dumps(raw))
    assert table.state().records[number].process is None


def test_renewal_never_exceeds_the_turn_deadline(table):
    grant = table.grant(table.plan_one(), lease_ms=10_000, timeout_ms=20_000)
    assert table.renew(grant, lease_ms=60_000)
    assert 10_000 < table.lease_ms() <= 20_000
    table.expire()
    assert not table.renew(grant)


def test_lease_may_be_renewed_during_a_pause(table):
    grant = table.grant(table.plan_one())
    table.suspend()
    assert table.renew(grant)


def test_lease_is_not_renewed_after_a_cancel(table):
    grant = table.grant(table.plan_one())
    table.cancel()
    assert not table.renew(grant)


def test_lease_is_not_renewed_after_the_end(table):
    """The turn began while its session was being cancelled: nothing else knows its lock."""
    grant = table.grant(table.plan_one())
    ending = {"request": "r", "reason": "cancelled", "detail": "", "retention_ms": RETENTION_MS, "by": ""}
    assert table.store._run("sessions/cancel", table.id, ending, locks=()).word == "cancelled"
    assert table.owner() == grant.token
    assert not table.renew(grant)
    assert table.commit(grant, "too late").word == "inactive"
    assert table.lease_ms() > 0, "it runs out by itself"


def test_lease_is_not_renewed_after_a_drop(table):
    grant = table.grant(table.plan_one())
    table.plan(drop=(grant.number,))
    assert not table.renew(grant)


def test_closed_grant_is_not_renewed(table):
    one, two = table.plan(turn("ann"), turn("bob", "slot:bob"))
    written, failed = table.grant(one), table.grant(two, scope="slot:bob")
    table.commit(written)
    table.fail(failed)
    assert not table.renew(written)
    assert not table.renew(failed)


def test_lost_lock_is_not_renewed_by_its_old_owner(table):
    """Fencing compares for equality: the old token is invalid for any new value."""
    grant = table.grant(table.plan_one())
    key = table.key("lock:floor")
    value = table.client.get(key)
    table.client.set(key, value.replace(grant.token, "another"), keepttl=True)
    assert not table.renew(grant)
    assert table.commit(grant, "stale").word == "stale"
    table.client.delete(key)


def test_lock_alone_is_not_renewed(table):
    """The turn must run under the token, even if the lock has it again."""
    one = table.plan_one()
    late = table.expire_grant(one)
    grant = table.grant(one)
    hold_lock(table, late)
    assert not table.renew(late), "another one has the turn"
    hold_lock(table, grant, until_ms=1)
    assert not table.renew(grant), "the turn's time is over"
    table.plan(drop=(one,))
    hold_lock(table, grant)
    assert not table.renew(grant), "the turn was dropped"
    table.expire()
    two = table.plan_one()
    grant = table.grant(two)
    table.commit(grant, "said", then=table.write(Step(turns=(turn("bob"),)), after=two))
    hold_lock(table, grant)
    assert not table.renew(grant), "the turn was consumed"
    table.expire()


def hold_lock(table, grant, *, until_ms=YEAR_2100_MS):
    table.client.set(table.key("lock:floor"), f"{grant.token}|{until_ms}")
