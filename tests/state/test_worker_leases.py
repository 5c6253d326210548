"""Leases of worker processes: who was lost, who takes over, and what an outage of Redis must not cause."""

from __future__ import annotations

import pytest

from live import until
from symposia.state import worker_leases
from symposia.state.presence import WorkerPresence
from symposia.state.redis.keys import worker_lease_key
from symposia.state.redis.scripts import evaluate, load_script
from symposia.state.worker_leases import LEASE_MS, WorkerLeases, lease_keys

ONE, TWO = "w@host/1-a", "w@host/2-b"


@pytest.fixture
def leases(client) -> WorkerLeases:
    """Leases that have been checked without a gap for longer than a lease."""
    leases = WorkerLeases(client)
    leases.claim_lost()
    client.hset(worker_lease_key("checks"), "judged_ms", 0)
    return leases


def report(client, process, *, lease_ms=LEASE_MS, added="[]", removed="[]"):
    keys, args = lease_keys(process), [process, lease_ms, added, removed]
    return evaluate(client, load_script("worker_leases/report"), keys, args)[0]


def expire(client, process):
    client.zadd(worker_lease_key("leases"), {process: 1})


def test_ended_process_is_claimed_once_with_its_sessions(client, leases):
    assert report(client, ONE, added='["s1", "s2"]') == "unknown"
    report(client, ONE, removed='["s1"]', added='["s3"]')
    assert leases.claim_lost() == []
    assert report(client, ONE, lease_ms=0) == "known"
    assert leases.lost_among([ONE, TWO]) == {ONE}
    assert leases.claim_lost() == [ONE]
    assert leases.lost_among([ONE, TWO]) == {ONE}, "its turns are being taken over"
    assert leases.sessions_of(ONE) == ["s2", "s3"]
    assert leases.claim_lost() == []
    leases.remove(ONE)
    assert leases.sessions_of(ONE) == []


def test_process_that_ends_without_work_has_no_sessions(client, leases):
    report(client, ONE, added='["s1"]')
    report(client, ONE, removed='["s1"]', lease_ms=0)
    assert leases.claim_lost() == [ONE]
    assert leases.sessions_of(ONE) == []
    leases.remove(ONE)
    assert not client.exists(*lease_keys(ONE))


def test_process_of_a_claimant_that_died_is_claimed_again(client, leases, monkeypatch):
    monkeypatch.setattr(worker_leases, "_HOLD_MS", 50)
    report(client, ONE, added='["s1"]', lease_ms=0)
    assert leases.claim_lost() == [ONE]
    assert until(leases.claim_lost) == [ONE]


def test_expired_lease_is_lost_after_checks_without_a_gap(client, leases):
    for process in (ONE, TWO):
        report(client, process, added='["s1"]')
    expire(client, ONE)
    client.hset(worker_lease_key("checks"), "last_ms", 0)
    assert leases.claim_lost() == [], "the server was away, or its clock has jumped"
    assert leases.lost_among([ONE, TWO]) == frozenset()
    client.hset(worker_lease_key("checks"), "judged_ms", 0)
    assert leases.claim_lost() == [ONE]


def test_end_that_was_seen_counts_after_a_gap(client, leases):
    report(client, ONE, added='["s1"]', lease_ms=0)
    client.delete(worker_lease_key("checks"))
    assert leases.claim_lost() == [ONE]


def test_process_that_reports_after_all_keeps_its_sessions(client, leases):
    report(client, ONE, added='["s1"]')
    expire(client, ONE)
    assert leases.claim_lost() == [ONE]
    assert report(client, ONE) == "unknown", "it reports all its sessions again"
    leases.remove(ONE)
    assert leases.sessions_of(ONE) == ["s1"]
    assert leases.lost_among([ONE]) == frozenset()


def test_lost_worker_is_not_alive(client, leases):
    workers = WorkerPresence(client)
    workers.announce("w@host", ["a"], process=ONE)
    assert workers.is_any_alive(), "its first report is under way"
    report(client, ONE, added='["s1"]', lease_ms=0)
    assert (workers.is_any_alive(), workers.list_alive()) == (False, [])
    workers.announce("other@host", ["a"])
    assert [it.name for it in workers.list_alive()] == ["other@host"]


def test_announcement_of_a_later_process_stays(client, leases):
    workers = WorkerPresence(client)
    workers.announce("w@host", ["a"], process=TWO)
    workers.remove_lost(ONE)
    assert [it.process for it in workers.list_alive()] == [TWO]
    workers.remove_lost(TWO)
    assert workers.list_alive() == []
