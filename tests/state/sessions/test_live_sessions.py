"""Numbers of unfinished sessions by mode and status, their ends, and stuck sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from sessions.table import Table
from symposia.models import metrics
from symposia.models.metrics import SESSIONS_ENDED, StuckReason
from symposia.models.protocol import collab
from symposia.models.protocol.collab import add_mode_name
from symposia.state.metrics import MetricCounts, count_field
from symposia.state.redis.keys import LIVE, METRICS
from symposia.state.sessions.index import SessionIndex
from symposia.state.sessions.live_sessions import LiveSessions, StuckSessions


def test_live_sessions_are_counted_by_mode_and_status(client):
    live = LiveSessions(client)
    for session_id, mode in (("a", "pair"), ("b", "pair"), ("c", "swarm"), ("d", "backwards")):
        live.add(session_id, mode)
    live.set_suspended("b", "pair", suspended=True)
    live.set_suspended("unknown", "pair", suspended=True)
    live.add("b", "pair")  # opened again: it stays suspended
    counts = {labels: number for labels, number in live.count().items() if number}
    assert counts == {
        ("pair", "active"): 1,
        ("pair", "suspended"): 1,
        ("swarm", "active"): 1,
        ("other", "active"): 1,
    }
    live.remove("b")
    assert [live.mode_of(it) for it in ("a", "b", "d", "unknown")] == ["pair", None, "other", None]
    assert client.zcard(LIVE) == 3


@pytest.fixture
def added_mode() -> Iterator[str]:
    yield add_mode_name("backwards")
    del collab._ADDED["backwards"]


def test_sessions_of_an_added_mode_have_its_name(client, added_mode):
    live = LiveSessions(client)
    for session_id, mode in (("a", added_mode), ("b", added_mode), ("c", "forgotten"), ("d", "pair")):
        live.add(session_id, mode)
    live.set_suspended("b", added_mode, suspended=True)
    live.set_suspended("c", "forgotten", suspended=True)
    counts = {labels: number for labels, number in live.count().items() if number}
    assert counts == {
        ("backwards", "active"): 1,
        ("backwards", "suspended"): 1,
        ("other", "suspended"): 1,
        ("pair", "active"): 1,
    }
    assert [live.mode_of("a"), live.mode_of("c")] == ["backwards", "other"]


def test_process_without_the_added_mode_counts_it_as_other(client, added_mode, monkeypatch):
    live = LiveSessions(client)
    for session_id in ("a", "b"):
        live.add(session_id, added_mode)
    live.set_suspended("b", added_mode, suspended=True)
    monkeypatch.setattr(metrics, "added_mode_names", tuple)
    counts = {labels: number for labels, number in live.count().items() if number}
    assert counts == {("other", "active"): 1, ("other", "suspended"): 1}
    live.set_suspended("b", "backwards", suspended=False)
    assert live.count()["other", "active"] == 2
    assert live.mode_of("b") == "other"


def test_the_end_of_a_session_is_counted_once(table: Table):
    index = SessionIndex(table.client)
    index.live.add(table.id, "pair")
    table.store.cancel(table.id, reason="in my own words", retention_ms=60_000)
    for _ in range(3):
        index.mark_ended(table.id)
    assert MetricCounts(table.client).read() == {count_field(SESSIONS_ENDED, "pair", "cancelled", "other"): 1}
    assert not table.client.zcard(LIVE)


class Killed(BaseException):
    """The process ends."""


class Dying:
    """A client of a process that is killed before or after its command of this number."""

    def __init__(self, client: Redis, number: int, *, is_sent: bool) -> None:
        self._client, self._left, self._is_sent = client, number, is_sent

    def __getattr__(self, name: str) -> Any:
        command = getattr(self._client, name)

        def call(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._is_sent:
                raise Killed
            answer = command(*args, **options)
            if self._left == 0:
                raise Killed
            return answer

        return call


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("report", ["mark_ended", "mark_cancelled"])
def test_killed_process_counts_each_end_once(client, report, is_sent):
    numbers = iter(range(1, 100))
    has_died = True
    while has_died:
        table, index = Table(client), SessionIndex(client)
        client.delete(METRICS)
        index.live.add(table.id, "pair")
        index.add_due(table.id, 1_000)
        table.store.cancel(table.id, reason="deadline", retention_ms=60_000)
        try:
            getattr(SessionIndex(Dying(client, next(numbers), is_sent=is_sent)), report)(table.id)  # type: ignore[arg-type]
            has_died = False
        except Killed:
            pass
        is_due = index.time_of(table.id) is not None
        assert index.mark_ended(table.id) == is_due
        for again in (index.mark_ended, index.mark_cancelled):
            again(table.id)
        field = count_field(SESSIONS_ENDED, "pair", "cancelled", "deadline")
        assert MetricCounts(client).read() == {field: 1}
        assert index.time_of(table.id) is None
    assert next(numbers) > 4


def test_damaged_status_or_counter_ends_a_session(table: Table):
    index = SessionIndex(table.client)
    index.live.add(table.id, "pair")
    table.cancel()
    table.client.hset(table.key("session"), "status", "my own words")
    index.mark_ended(table.id)
    assert MetricCounts(table.client).read() == {count_field(SESSIONS_ENDED, "pair", "other", "cancelled"): 1}
    table.client.hset(table.key("session"), "status", "cancelled")
    table.client.delete(METRICS)
    table.client.set(METRICS, "no hash")
    index.live.add(table.id, "pair")
    index.mark_ended(table.id)
    assert index.live.mode_of(table.id) is None
    table.client.delete(METRICS)


def test_cancelled_session_is_not_unswept(table: Table):
    index = SessionIndex(table.client)
    for session_id in (table.id, "other"):
        index.live.add(session_id, "pair")
        index.add_due(session_id, 1_000)
    assert index.count_unswept(before_ms=2_000) == 2
    table.store.cancel(table.id, reason="enough", retention_ms=60_000)
    index.mark_cancelled(table.id)
    assert index.time_of(table.id) == 1_000
    assert index.count_unswept(before_ms=2_000) == 1


def test_stuck_session_is_listed_until_its_next_check(client):
    stuck = StuckSessions(client)
    stuck.add("a", StuckReason.QUEUED, now_ms=1_000, until_ms=2_000)
    stuck.add("b", StuckReason.UNREADABLE, now_ms=1_500, until_ms=5_000)
    assert stuck.list_all(now_ms=1_999) == [(StuckReason.QUEUED, "a"), (StuckReason.UNREADABLE, "b")]
    assert stuck.list_all(now_ms=3_000) == [(StuckReason.UNREADABLE, "b")]
    stuck.add("c", StuckReason.BUDGET, now_ms=6_000, until_ms=7_000)
    assert stuck.list_all(now_ms=0) == [(StuckReason.BUDGET, "c")]
