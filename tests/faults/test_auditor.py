"""The independent checker finds every change of the data of a session."""

from __future__ import annotations

import json
from random import Random

import pytest

from chaos.audit.auditor import audit
from chaos.audit.evidence import Evidence
from chaos.audit.families import audit_family
from chaos.plays import nested, round_robin
from sessions.table import until

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture(scope="module")
def ended(arena):
    """A session that has come to its end, with the notes of its agents."""
    play = round_robin(Random(5))
    outcome = arena.run([play])
    assert not outcome.findings
    session = key(play.script, "session")  # its keys get their time to live from the archiver
    until(lambda: arena.server.client.hget(session, "archive") == "kept", timeout_s=30)
    return arena, play.script, outcome.calls[play.id]


def key(script, part):
    return f"symposia:{{{script.session}}}:{part}"


def entries(redis, script, part):
    return redis.xrange(key(script, part))


def forget_a_message(redis, script):
    redis.xdel(key(script, "dialog"), entries(redis, script, "dialog")[1][0])


def repeat_a_message(redis, script):
    redis.xadd(key(script, "dialog"), entries(redis, script, "dialog")[1][1])


def change_who_spoke(redis, script):
    change_first(redis, script, "MAPTurnDispatched", participant_id="bob")


def forget_a_completion(redis, script):
    redis.xdel(key(script, "events"), first(redis, script, "MAPTurnCompleted")[0])


def repeat_a_completion(redis, script):
    redis.xadd(key(script, "events"), first(redis, script, "MAPTurnCompleted")[1])


def lower_a_fence(redis, script):
    change_last(redis, script, "MAPTurnDispatched", fence=1)


def change_a_token(redis, script):
    change_first(redis, script, "MAPTurnDispatched", token_id="another")


def spend_more(redis, script):
    redis.hincrby(key(script, "session"), "cost_micros", 1)


def count_more(redis, script):
    redis.hincrby(key(script, "session"), "closed", 1)


def plan_more(redis, script):
    redis.hincrby(key(script, "session"), "next", 1)


def end_otherwise(redis, script):
    redis.hset(key(script, "session"), "reason", "failed")


def never_expire(redis, script):
    redis.persist(key(script, "events"))


def first(redis, script, kind):
    """The first of a turn that was written: where a lease ran out there may be one before."""
    written = {closing.token for closing in Evidence(redis, script.session).written}
    return next(e for e in entries(redis, script, "events") if of_kind(e, kind, written))


def of_kind(entry, kind, tokens):
    event = json.loads(entry[1]["e"])
    return event["event_type"] == kind and event["payload"]["token_id"] in tokens


def change_first(redis, script, kind, **changes):
    rewrite(redis, script, first(redis, script, kind)[0], changes)


def change_last(redis, script, kind, **changes):
    events = entries(redis, script, "events")
    last = next(e for e in reversed(events) if json.loads(e[1]["e"])["event_type"] == kind)
    rewrite(redis, script, last[0], changes)


def rewrite(redis, script, changed_id, changes):
    """The same stream, with another payload in one of its entries."""
    stream, old = key(script, "events"), entries(redis, script, "events")
    ttl_ms = redis.pttl(stream)
    redis.delete(stream)
    for entry_id, fields in old:
        event = json.loads(fields["e"])
        if entry_id == changed_id:
            event["payload"] |= changes
        redis.xadd(stream, {"e": json.dumps(event)}, id=entry_id)
    redis.pexpire(stream, ttl_ms)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (forget_a_message, "lost"),
        (repeat_a_message, "doubled"),
        (change_who_spoke, "order"),
        (forget_a_completion, "record"),
        (repeat_a_completion, "doubled"),
        (lower_a_fence, "fence"),
        (change_a_token, "fence"),
        (spend_more, "budget"),
        (count_more, "budget"),
        (plan_more, "lost"),
        (end_otherwise, "end"),
        (never_expire, "end"),
    ],
)
def test_checker_finds_every_change_of_a_session(ended, change, kind):
    arena, script, calls = ended
    redis = arena.server.client
    names = [key(script, part) for part in ("session", "dialog", "events")]
    raw = arena.server.raw
    saved = {name: (raw.pexpiretime(name), raw.dump(name)) for name in names}
    try:
        change(redis, script)
        findings = audit(Evidence(redis, script.session), script, calls, lease_ms=1_000)
    finally:
        for name, (expires_ms, dump) in saved.items():
            raw.restore(name, expires_ms, dump, replace=True, absttl=True)
    assert kind in {finding.kind for finding in findings}
    assert not audit(Evidence(redis, script.session), script, calls, lease_ms=1_000)


def test_checker_finds_messages_without_a_call(ended):
    arena, script, calls = ended
    nonce = next(iter(calls))
    known = {name: call for name, call in calls.items() if name != nonce}
    findings = audit(Evidence(arena.server.client, script.session), script, known, lease_ms=1_000)
    assert "record" in {finding.kind for finding in findings}


def test_checker_finds_every_change_between_sessions_and_sub_sessions(arena):
    play = nested(Random(6))
    outcome = arena.run([play])
    assert not outcome.findings
    redis, child = arena.server.client, play.children[0]

    def found(is_cut=False):
        seen = {it.id: Evidence(redis, it.id) for it in play.family()}
        return {finding.kind for finding in audit_family(play.script, seen, is_cut=is_cut)}

    assert found() == set()
    spent = key(child.script, "session")
    redis.hincrby(spent, "input_tokens", 1)
    assert found() == {"budget"}
    redis.hincrby(spent, "input_tokens", -1)
    redis.hset(spent, "status", "active")
    assert found() == {"end"}
    redis.delete(spent)
    assert found() == {"lost"}
    assert found(is_cut=True) == set()
