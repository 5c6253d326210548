"""Usage of each participant: sums of the events that a process has read."""

from __future__ import annotations

import pytest

from live import result_of
from symposia.dashboard.views.session.usage import UsageTotals
from symposia.models.errors import CorruptSession
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

pytestmark = [pytest.mark.long, pytest.mark.timeout(180), pytest.mark.leaves_keys]


def test_usage_counts_events_once_after_a_failed_read(dashboard):
    job = dashboard.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(4))
    result_of(job, timeout_s=60)
    opened_ms, usage = job.state().opened_ms, UsageTotals()
    with connect(dashboard.settings["redis_url"]) as redis:
        key = session_key(job.id, "journal")
        added = redis.xadd(key, {"e": "no event"})
        with pytest.raises(CorruptSession):
            usage.read(job, opened_ms=opened_ms)
        redis.xdel(key, added)
    for _ in range(2):
        totals = usage.read(job, opened_ms=opened_ms)
        assert {name: it.turns for name, it in totals.participants.items()} == {"ann": 2, "bob": 2}
        assert totals.is_complete
