"""RedBeat reads our schedules as its own entries, and never brings back what was removed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery

from symposia.config.settings import load_settings
from symposia.schedules.recurrence import Recurrence
from symposia.schedules.schedules import Schedules
from symposia.schedules.store import SCHEDULE_RUN_TASK, ScheduleStore
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import SCHEDULES_BEAT, schedule_keys
from symposia.workers.beat.beat import BeatEntry, DueTimes, SchedulesInRedis
from symposia.workers.worker_app import create_worker_app

KEY = schedule_keys("nightly")["entry"]


@pytest.fixture
def app(redis_url, monkeypatch) -> Celery:
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", redis_url)
    return create_worker_app(load_settings())


@pytest.fixture
def beat(app) -> Iterator[SchedulesInRedis]:
    beat = SchedulesInRedis(app, lazy=True)
    yield beat
    app.redbeat_redis.close()


@pytest.fixture
def schedules(redis_url) -> Iterator[Schedules]:
    with connect(redis_url) as client:
        yield Schedules(ScheduleStore(client), [].append)


def test_entry_has_task_schedule_and_due_time(app, beat, schedules):
    added = schedules.add("nightly", cron="0 3 1 1 *", zone="Asia/Tokyo", job="x")
    entry = BeatEntry.from_key(KEY, app=app)
    assert (entry.task, entry.kwargs) == (SCHEDULE_RUN_TASK, {"schedule": "nightly"})
    assert entry.due_at == added.next_due
    assert not entry.is_due().is_due
    assert entry.score == int(added.next_due.timestamp())


def test_sent_entry_is_stored_with_its_next_time(app, beat, schedules, redis_url):
    schedules.add("nightly", every=3_600, job="x")
    with connect(redis_url) as client:
        client.zadd(SCHEDULES_BEAT, {KEY: 0})
        following = next(BeatEntry.from_key(KEY, app=app))
        assert following.total_run_count == 1
        assert client.zscore(SCHEDULES_BEAT, KEY) == int(schedules.get("nightly").next_due.timestamp())
    again = BeatEntry.from_key(KEY, app=app)
    assert (again.total_run_count, again.last_run_at.tzinfo) == (1, UTC)
    assert not again.is_due().is_due


@pytest.mark.parametrize("meanwhile", ["remove", "pause"])
def test_schedule_removed_while_sending_stays_removed(app, beat, schedules, redis_url, meanwhile):
    schedules.add("nightly", every=1, job="x")
    entry = BeatEntry.from_key(KEY, app=app)
    getattr(schedules, meanwhile)("nightly")
    next(entry)
    with connect(redis_url) as client:
        assert client.zscore(SCHEDULES_BEAT, KEY) is None
        assert client.exists(KEY) == (meanwhile == "pause")


def test_beat_waits_for_redis(redis_url, monkeypatch):
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", "redis://127.0.0.1:1/0")
    app = create_worker_app(load_settings())
    assert SchedulesInRedis(app).tick() == 1


def test_due_times_follow_the_recurrence(monkeypatch):
    origin = datetime(2026, 1, 1, tzinfo=UTC)
    times = DueTimes(Recurrence(every=7), origin)
    assert times.after(None) == origin + timedelta(seconds=7)
    assert times.after(datetime(1, 1, 2, tzinfo=UTC)) == origin + timedelta(seconds=7)
    assert times.after(origin + timedelta(seconds=7)) == origin + timedelta(seconds=14)
    assert times == DueTimes(Recurrence(every="7s"), origin)
    assert times != DueTimes(Recurrence(every=8), origin)
    now = origin + timedelta(seconds=10)
    monkeypatch.setattr(times, "now", lambda: now)
    assert times.is_due(now) == (False, 4)
    assert times.is_due(origin) == (True, 4)
