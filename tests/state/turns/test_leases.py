"""`renew`, and expired leases."""

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
