"""What a newer version has written is refused with one line, and left alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from review_tools.batches import started
from sessions.inline_runtime import InlineRuntime
from symposia.models.errors import NewerFormat
from symposia.models.schedules.schedule import Schedule
from symposia.state.redis.formats import FORMATS
from symposia.state.redis.keys import review_key, schedule_keys, session_key
from symposia.state.reviews.store import ReviewStore
from symposia.state.schedule_store import ScheduleStore

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def office(tmp_path, redis_url: str) -> Iterator[InlineRuntime]:
    office = InlineRuntime(tmp_path, redis_url)
    yield office
    office.close()


@pytest.fixture
def redis(office: InlineRuntime) -> Redis:
    return office.runtime.store.client


def test_session_of_a_newer_version_is_refused_unchanged(office: InlineRuntime, redis: Redis) -> None:
    job = office.submit("pair", {"ann": "echo", "bob": "echo"}, stop={"max_turns": 2})
    key = session_key(job.id, "session")
    assert redis.hget(key, "format") == str(FORMATS["session"])
    redis.hset(key, "format", 3)
    before = redis.hgetall(key)
    line = rf"^session '{job.id}' was written by a newer version of Symposia \(format 3, this version reads up to 1\)$"
    with pytest.raises(NewerFormat, match=line):
        office.work()
    with pytest.raises(NewerFormat, match=line):
        office.client.get_job(job.id).result()
    assert redis.hgetall(key) == before


def test_session_without_a_format_runs(office: InlineRuntime, redis: Redis) -> None:
    job = office.submit("pair", {"ann": "echo", "bob": "echo"}, stop={"max_turns": 2})
    redis.hdel(session_key(job.id, "session"), "format")
    office.work()
    assert job.result().reason == "max_turns"


def test_review_of_a_newer_version_is_refused(redis: Redis) -> None:
    store = ReviewStore(redis, retention_s=60)
    batch = started(store, 1)
    redis.hset(review_key(batch, "batch"), "format", 2)
    for read in (store.view, store.head):
        with pytest.raises(NewerFormat, match=r"^review .* reads up to 1"):
            read(batch)


def test_schedule_of_a_newer_version_is_refused(redis: Redis) -> None:
    store = ScheduleStore(redis)
    schedule = Schedule.model_validate({"name": "daily", "when": {"cron": "@daily"}, "job": "say"})
    store.put(schedule)
    redis.hset(schedule_keys("daily")["entry"], "format", 2)
    with pytest.raises(NewerFormat, match=r"^schedule 'daily' .* reads up to 1"):
        store.get("daily")
    with pytest.raises(NewerFormat, match=r"^schedule 'daily' .* reads up to 1"):
        store.put(schedule, mode="replace")
