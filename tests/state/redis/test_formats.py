"""What a newer version has written is refused with one line, and left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from review_tools.batches import started
from sessions.inline_installation import InlineInstallation
from sessions.table import Table, turn
from symposia.jobs.collab import CollabJob
from symposia.models.errors import NewerFormat
from symposia.models.sessions.options import AgentBinding
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Question
from symposia.models.turns.waiting import ParkedQuestion, WaitPolicy
from symposia.reviews.state.store import ReviewStore
from symposia.schedules.schedule import Schedule
from symposia.schedules.store import ScheduleStore
from symposia.state.presence import WorkerPresence, WorkerRoute
from symposia.state.redis.formats import FORMATS
from symposia.state.redis.keys import ARCHIVE_QUEUE, review_key, schedule_keys, session_key
from symposia.state.worker_routes import WorkerRoutes
from symposia.tasks.sessions.sweep import sweep

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def installation(tmp_path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url, archive=True)
    yield installation
    installation.close()


@pytest.fixture
def redis(installation: InlineInstallation) -> Redis:
    return installation.runtime.store.client


def test_session_of_a_newer_version_is_refused_unchanged(
    installation: InlineInstallation, redis: Redis
) -> None:
    job = installation.submit("pair", {"ann": "echo", "bob": "echo"}, stop={"max_turns": 2})
    key = session_key(job.id, "session")
    assert redis.hget(key, "format") == "1"
    redis.hset(key, "format", 3)
    before = redis.hgetall(key)
    line = rf"^session '{job.id}' was written by a newer version of Symposia \(format 3, this version reads up to 2\)$"
    with pytest.raises(NewerFormat, match=line):
        installation.work()
    with pytest.raises(NewerFormat, match=line):
        installation.client.get_job(job.id).result()
    assert redis.hgetall(key) == before


def test_newer_fields_raise_the_format_of_their_session(
    installation: InlineInstallation, redis: Redis
) -> None:
    agents = {"ann": "echo", "bob": "echo"}
    plain, owned = (
        installation.submit("round_robin", agents, stop={"max_turns": 2}, owner=owner)
        for owner in (None, "ann")
    )
    installation.work()
    forked = owned.fork(at_turn=2, owner="bob")
    steered = installation.submit("round_robin", agents)
    steered.add_participant("cyd", agent=AgentBinding(agent="echo", description="counts"))
    formats = [redis.hget(session_key(it.id, "session"), "format") for it in (plain, owned, forked, steered)]
    assert formats == ["1", "2", "2", "2"]


def test_escalation_raises_the_format_of_its_session(table: Table) -> None:
    plain, escalating = WaitPolicy(), WaitPolicy(escalate_after_s=60, escalate_to="bob")
    numbers = table.plan(*(turn(scope=scope) for scope in "abc"))
    for number, scope, policy, version in zip(numbers, "abc", (plain, escalating, plain), "122", strict=True):
        wait = ParkedQuestion(question=Question(to="ann", text='"escalate_to":'), policy=policy)
        stored = wait.model_dump_json(exclude_defaults=True)
        assert table.park(table.grant(number, scope=scope), new_id(), wait=stored).word == "parked"
        assert table.client.hget(table.key("session"), "format") == version


def keys_of(redis: Redis, session: str) -> dict[str, bytes | None]:
    """All keys of a session, as Redis dumps them."""
    return {str(key): redis.dump(key) for key in redis.scan_iter(session_key(session, "*"))}


@pytest.fixture
def newer(installation: InlineInstallation, redis: Redis) -> CollabJob:
    """A session in the middle, which a newer version wrote."""
    job = installation.submit("pair", {"ann": "echo", "bob": "echo"}, stop={"max_turns": 2})
    redis.hset(session_key(job.id, "session"), "format", FORMATS["session"] + 1)
    return job


def test_sweep_returns_a_session_to_newer_workers(
    installation: InlineInstallation, redis: Redis, newer: CollabJob
) -> None:
    presence, index = WorkerPresence(redis), installation.runtime.index
    installation.queue.routes = WorkerRoutes(presence)
    presence.announce("newer@here", [], route=WorkerRoute("elsewhere", session_format=FORMATS["session"] + 1))
    index.reschedule(newer.id, 0)
    before = keys_of(redis, newer.id)
    assert (sweep(installation.runtime), keys_of(redis, newer.id)) == (0, before)
    assert index.time_of(newer.id) <= index.now_ms(), "the next sweep may claim it"


def test_sweep_leaves_a_session_of_a_newer_version_unchanged(
    installation: InlineInstallation, redis: Redis, newer: CollabJob, caplog: pytest.LogCaptureFixture
) -> None:
    installation.queue.waiting.clear()
    before = keys_of(redis, newer.id)
    installation.runtime.index.reschedule(newer.id, 0)
    assert sweep(installation.runtime) == 0
    assert (keys_of(redis, newer.id), list(installation.queue.waiting)) == (before, [])
    (line,) = [it.message for it in caplog.records if newer.id in it.message]
    assert line.endswith("(format 3, this version reads up to 2); leaving it to newer workers")


@pytest.mark.parametrize(
    "change",
    [
        CollabJob.suspend,
        CollabJob.resume,
        CollabJob.stop,
        CollabJob.cancel,
        lambda job: job.post("Be short."),
    ],
    ids=["suspend", "resume", "stop", "cancel", "post"],
)
def test_changes_of_a_session_of_a_newer_version_are_refused(
    redis: Redis, newer: CollabJob, change: Callable[[CollabJob], object]
) -> None:
    before = keys_of(redis, newer.id)
    with pytest.raises(NewerFormat):
        change(newer)
    assert keys_of(redis, newer.id) == before


def test_archiver_leaves_a_session_of_a_newer_version_queued(
    installation: InlineInstallation, redis: Redis, newer: CollabJob
) -> None:
    archiver = installation.runtime.ports.archiver
    assert archiver is not None
    redis.zadd(ARCHIVE_QUEUE, {newer.id: 0})
    assert archiver.archive_due() == 0
    assert redis.zscore(ARCHIVE_QUEUE, newer.id) > 0
    redis.hset(session_key(newer.id, "session"), "format", FORMATS["session"])
    redis.zadd(ARCHIVE_QUEUE, {newer.id: 0})
    assert archiver.archive_due() == 1


def test_lists_leave_out_a_session_of_a_newer_version(
    installation: InlineInstallation, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    asked = installation.submit("round_robin", {"ann": "echo"}, people=["ben"], stop={"max_turns": 2})
    other = installation.submit("round_robin", {"ann": "echo"}, people=["ben"], stop={"max_turns": 2})
    installation.work()
    assert {it.session_id for it in installation.client.inbox()} == {asked.id, other.id}
    redis.hset(session_key(asked.id, "session"), "format", FORMATS["session"] + 1)
    assert [it.id for it in installation.client.jobs()] == [other.id]
    assert [it.session_id for it in installation.client.inbox()] == [other.id]
    lines = [it.message for it in caplog.records if it.message.startswith("leaving out")]
    assert [line.split(", which")[0] for line in lines] == [
        f"leaving out session '{asked.id}'",
        f"leaving out a question of session '{asked.id}'",
    ]
    redis.hset(session_key(asked.id, "session"), "format", FORMATS["session"])
    assert {it.session_id for it in installation.client.inbox()} == {asked.id, other.id}


def test_session_without_a_format_runs(installation: InlineInstallation, redis: Redis) -> None:
    job = installation.submit("pair", {"ann": "echo", "bob": "echo"}, stop={"max_turns": 2})
    redis.hdel(session_key(job.id, "session"), "format")
    installation.work()
    assert job.result().reason == "max_turns"


def test_review_of_a_newer_version_is_refused(redis: Redis) -> None:
    store = ReviewStore(redis, retention_s=60)
    batch = started(store, 1)
    redis.hset(review_key(batch, "batch"), "format", 2)
    for read in (store.view, store.head):
        with pytest.raises(NewerFormat, match=r"^review .* reads up to 1"):
            read(batch)


def test_items_of_a_review_of_a_newer_version_are_not_claimed(redis: Redis) -> None:
    store = ReviewStore(redis, retention_s=60)
    batch = started(store, 2)
    redis.hset(review_key(batch, "batch"), "format", 2)
    with pytest.raises(NewerFormat):
        store.claim(batch)
    redis.hset(review_key(batch, "batch"), "format", 1)
    assert store.claim(batch)[1] == [1, 2]


def test_schedule_of_a_newer_version_is_refused(redis: Redis) -> None:
    store = ScheduleStore(redis)
    schedule = Schedule.model_validate({"name": "daily", "when": {"cron": "@daily"}, "job": "say"})
    store.put(schedule)
    redis.hset(schedule_keys("daily")["entry"], "format", 2)
    with pytest.raises(NewerFormat, match=r"^schedule 'daily' .* reads up to 1"):
        store.get("daily")
    with pytest.raises(NewerFormat, match=r"^schedule 'daily' .* reads up to 1"):
        store.put(schedule, mode="replace")
