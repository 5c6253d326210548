"""A worker whose clock is an hour ahead, and more sweeps at once than there are sessions."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from chaos.arena import Arena
from chaos.audit.evidence import stamp_ms
from chaos.faults.people import suspend_and_resume, sweeps_at_once
from chaos.faults.workers import freeze_at, kill_at
from chaos.machinery.skew import AHEAD, UTC
from symposia.tasks.runtime.runtime import Boundary

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180), pytest.mark.long]


def first_logged(member):
    """Return the start time according to the clock of the worker."""
    return datetime.fromisoformat(re.search(r"\[([-0-9]+ [:0-9]+),", member.worker.log()).group(1))


def test_sessions_survive_a_worker_clock_an_hour_ahead(tmp_path, survives):
    with Arena(tmp_path) as arena:
        arena.crew.start([arena.member("right", environment=UTC), arena.member("ahead", **AHEAD)])
        right, ahead = (first_logged(member) for member in arena.crew.members)
        assert ahead - right > timedelta(minutes=50), "the clock is wrong indeed"
        outcome = survives(kill_at(Boundary.SPEAKING), freeze_at(Boundary.BEFORE_COMMIT), on=arena)
        now_s, _ = arena.server.client.time()
        said = [entry.says for evidence in outcome.evidence.values() for entry in evidence.dialog]
        latest_s = max(stamp_ms(says["timestamp"]) for says in said) / 1000
        assert latest_s < int(now_s) + 60, "messages carry the server's time"


def test_concurrent_sweeps_change_no_session(survives):
    survives(sweeps_at_once)


def test_repeatedly_suspended_sessions_end(survives):
    survives(suspend_and_resume, sweeps_at_once)
