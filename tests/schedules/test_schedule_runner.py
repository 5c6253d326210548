"""Due runs start once, overlapping and missed runs follow the schedule, and the end of a run is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from redis import Redis

from sessions.table import until
from symposia.models.errors import InvalidInput, NewerFormat, RedisUnavailable, ScheduleNotFound
from symposia.models.turns.turn import Usage
from symposia.schedules.runner import ScheduleRunner
from symposia.schedules.schedule import RunOutcome, Schedule, ScheduleRun, ScheduleRunProgress
from symposia.schedules.schedules import Schedules
from symposia.schedules.store import MAX_KEPT, MAX_QUEUED, ScheduleStore
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import schedule_keys


@dataclass
class ManualRuns:
    """Runs that end when the test ends them."""

    begun: list[str] = field(default_factory=list)
    ended: dict[str, ScheduleRunProgress] = field(default_factory=dict)
    #: What happens when something is begun, or looked at.
    on_start: Callable[[], None] = lambda: None
    on_look: Callable[[], None] = lambda: None

    def start(self, _schedule: Schedule, occurrence: ScheduleRun) -> None:
        self.on_start()
        self.begun.append(occurrence.id)

    def progress(self, _schedule: Schedule, occurrence: ScheduleRun) -> ScheduleRunProgress | None:
        self.on_look()
        if occurrence.id not in self.begun:
            return None
        return self.ended.get(occurrence.id, ScheduleRunProgress())

    def cancel(self, _schedule: Schedule, occurrence: ScheduleRun) -> None:
        self.ended[occurrence.id] = ScheduleRunProgress(RunOutcome.CANCELLED)

    def end(self, *, usage: Usage = Usage(), detail: str = "") -> None:  # noqa: B008 - frozen
        """Lets the newest end."""
        self.ended[self.begun[-1]] = ScheduleRunProgress(RunOutcome.COMPLETED, usage, detail)


@dataclass
class ScheduleFixture:
    """One schedule, its runner, and a way to let time pass."""

    client: Redis
    runs: ManualRuns = field(default_factory=ManualRuns)

    @property
    def store(self) -> ScheduleStore:
        return ScheduleStore(self.client)

    @property
    def schedules(self) -> Schedules:
        return Schedules(self.store, [].append)

    def runner(self, **more: int) -> ScheduleRunner:
        return ScheduleRunner(
            self.store, {"job": self.runs}, **{"grace_ms": 2_000, "lease_ms": 30_000, **more}
        )

    def add(self, *, times: int, grace_s: int = 3_600, **more: object) -> None:
        """A schedule every ten minutes that was due so many times unseen, the last of them five minutes ago."""
        self.schedules.add("often", every="10m", job="x", grace_s=grace_s, **more)
        origin_ms = self.store.now_ms() - (times * 600 + 300) * 1_000
        seen = {"origin_ms": origin_ms, "last_ms": origin_ms + 1_000}
        self.client.hset(schedule_keys("often")["entry"], mapping=seen)

    def one_more_is_due(self) -> None:
        """Moves the grid, so that its last time is 50 seconds ago instead of five minutes."""
        self.client.hincrby(schedule_keys("often")["entry"], "origin_ms", 250_000)

    def process(self) -> None:
        self.runner().process_schedule("often")

    def history(self) -> list[tuple[RunOutcome, int]]:
        """Outcomes, oldest first, with how many intervals after the origin each was due."""
        state = self.store.get("often")
        records = self.store.history("often", count=MAX_KEPT)[::-1]
        return [(it.outcome, (it.due_ms - state.origin_ms) // 600_000) for it in records]


@pytest.fixture
def room(redis_url) -> Iterator[ScheduleFixture]:
    with connect(redis_url) as client:
        yield ScheduleFixture(client)


def test_due_runs_start_one_by_one_in_order(room):
    room.add(times=3, overlap="queue")
    room.process()
    assert (len(room.runs.begun), room.store.get("often").queued) == (1, 2)
    for count in (2, 3):
        room.runs.end()
        room.process()
        assert len(room.runs.begun) == count
    room.runs.end()
    room.process()
    assert room.history() == [(RunOutcome.COMPLETED, 1), (RunOutcome.COMPLETED, 2), (RunOutcome.COMPLETED, 3)]
    assert len(set(room.runs.begun)) == 3


def test_run_of_a_newer_version_is_left_to_a_newer_worker(room):
    def refuse() -> None:
        raise NewerFormat("session", room.runs.begun[0], written=2, newest=1)

    room.add(times=1)
    room.process()
    room.runs.on_look = refuse
    with pytest.raises(NewerFormat):
        room.process()
    assert (room.history(), len(room.runs.begun)) == ([], 1)
    room.runs.on_look = lambda: None
    room.runs.end()
    room.process()
    assert room.history() == [(RunOutcome.COMPLETED, 1)]


def test_repeated_notices_start_nothing_twice(room):
    room.add(times=2, overlap="queue")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: room.process(), range(40)))
    room.process()
    assert len(room.runs.begun) == 1
    assert room.store.get("often").queued == 1


def test_concurrent_claims_are_granted_once_in_order(room):
    room.schedules.add("often", every=1, job="x")
    now_ms = room.store.now_ms()

    def claim(number: int) -> tuple[str, int]:
        due_ms = now_ms + 1_000 * (number // 4)
        return room.store.claim("often", f"{number}", due_ms=due_ms, overlap="queue"), due_ms

    with ThreadPoolExecutor(8) as pool:
        granted = [due for word, due in pool.map(claim, range(80)) if word in ("running", "queued")]
    assert len(granted) == len(set(granted))
    assert max(granted) == now_ms + 19_000


def test_overlapping_run_is_skipped_on_record(room):
    room.add(times=2, overlap="skip")
    room.process()
    assert room.history() == [(RunOutcome.SKIPPED, 2)]
    assert len(room.runs.begun) == 1
    assert "an earlier run had not finished" in room.store.history("often")[0].detail


def test_new_run_cancels_the_older_one(room):
    room.add(times=1, overlap="cancel")
    room.process()
    room.one_more_is_due()
    room.process()
    assert [outcome for outcome, _ in room.history()] == [RunOutcome.CANCELLED]
    assert len(room.runs.begun) == 2


def test_only_the_newest_missed_run_begins(room):
    room.add(times=3, overlap="cancel")
    room.process()
    assert room.history() == [(RunOutcome.SKIPPED, 1), (RunOutcome.SKIPPED, 2)]
    assert len(room.runs.begun) == 1
    room.runs.end()
    room.process()
    assert room.history()[-1] == (RunOutcome.COMPLETED, 3)


def test_run_ended_before_cancel_keeps_its_outcome(room):
    room.add(times=1, overlap="cancel")
    room.process()
    room.runs.end(detail="in time")
    room.one_more_is_due()
    room.process()
    assert [outcome for outcome, _ in room.history()] == [RunOutcome.COMPLETED]


@pytest.mark.parametrize(("missed", "outcome"), [("skip", RunOutcome.MISSED), ("once", RunOutcome.COMPLETED)])
def test_missed_times_are_one_line_in_the_history(room, missed, outcome):
    room.add(times=12, grace_s=60, missed=missed)
    room.process()
    assert len(room.runs.begun) == (missed == "once")
    if room.runs.begun:
        room.runs.end()
        room.process()
    assert room.history() == [(outcome, 12)]


def test_missed_time_does_not_run_if_another_is_due(room):
    room.add(times=3, grace_s=1_000, missed="once", overlap="queue")
    room.process()
    assert [outcome for outcome, _ in room.history()] == [RunOutcome.MISSED]
    assert room.store.get("often").queued + len(room.runs.begun) == 2


def test_run_that_cannot_begin_fails(room):
    def refuse() -> None:
        raise InvalidInput("job", "x", "must be a job of SYMPOSIA_JOBS")

    room.runs.on_start = refuse
    room.add(times=2, overlap="queue")
    room.process()
    assert room.history() == [(RunOutcome.FAILED, 1), (RunOutcome.FAILED, 2)]
    assert room.store.history("often")[0].detail == "job: must be a job of SYMPOSIA_JOBS (got 'x')"


def test_defect_in_a_run_does_not_block_the_schedule(room, caplog):
    room.runs.on_start = lambda: {}["missing"]
    room.add(times=1)
    room.process()
    assert room.history() == [(RunOutcome.FAILED, 1)]
    assert room.store.history("often")[0].detail == "a defect: KeyError"


def test_temporary_failure_delays_a_run(room):
    def away() -> None:
        raise RedisUnavailable("redis://elsewhere")

    room.runs.on_start = away
    room.add(times=1)
    with pytest.raises(RedisUnavailable):
        room.process()
    room.runs.on_start = lambda: None
    room.process()
    assert len(room.runs.begun) == 1
    assert room.history() == []


def test_forgotten_run_has_failed(room):
    room.add(times=1)
    room.process()
    room.runs.begun.clear()
    room.process()
    assert room.history() == [(RunOutcome.FAILED, 1)]


def test_history_has_the_usage(room):
    room.add(times=1)
    room.process()
    room.runs.end(usage=Usage(input_tokens=70, output_tokens=30, cost_micros=1_500), detail="two\nlines")
    room.process()
    (record,) = room.schedules.history("often")
    assert (record.usage.tokens, record.usage.cost_micros, record.detail) == (100, 1_500, "two lines")
    assert record.duration_s >= 0


def test_paused_schedule_runs_only_by_hand(room):
    room.add(times=1)
    room.schedules.pause("often")
    room.process()
    assert room.runs.begun == []
    asked = room.schedules.run_now("often")
    room.process()
    assert room.runs.begun == [asked]
    room.schedules.resume("often")
    room.runs.end()
    room.process()
    (record,) = room.store.history("often")
    assert (record.id, record.by_hand) == (asked, True)


def test_schedule_may_be_removed_while_it_is_processed(room):
    room.add(times=1)
    room.runs.on_start = lambda: room.schedules.remove("often")
    room.process()
    with pytest.raises(ScheduleNotFound):
        room.store.get("often")
    assert not room.client.exists(*list(schedule_keys("often").values())[:3])
    room.process()


def test_notice_during_a_claim_is_not_lost(room):
    room.add(times=1, overlap="queue")

    def send_notice() -> None:
        room.runs.on_start = lambda: None
        room.schedules.run_now("often")
        assert room.store.take_lease("often", "another", lease_ms=1_000) == "other"

    room.runs.on_start = send_notice
    room.process()
    assert room.store.get("often").queued == 1
    assert room.store.take_lease("often", "another", lease_ms=1_000) == "mine"


def test_another_worker_takes_over_a_due_run(room):
    room.add(times=1)
    assert room.store.take_lease("often", "who died", lease_ms=60_000) == "mine"
    room.process()
    assert room.runs.begun == []
    room.client.hset(schedule_keys("often")["entry"], "keeper", "who died|0")  # its lease has run out
    room.process()
    assert len(room.runs.begun) == 1


def test_lease_is_renewed_while_a_run_starts(room):
    room.add(times=1)
    entry, kept = schedule_keys("often")["entry"], []

    def wait_for_renewal() -> None:
        first = room.client.hget(entry, "keeper")
        until(lambda: room.client.hget(entry, "keeper") != first)
        kept.append(room.store.take_lease("often", "another", lease_ms=1_000))

    room.runs.on_start = wait_for_renewal
    room.runner(lease_ms=3_000).process_schedule("often")
    assert (kept, len(room.runs.begun)) == (["other"], 1)
    assert room.store.take_lease("often", "another", lease_ms=1_000) == "mine", "it was released"


def test_waiting_runs_and_history_are_capped(room):
    room.add(times=1, overlap="queue")
    now_ms = room.store.now_ms()
    words = [
        room.store.claim("often", f"{number}", due_ms=now_ms + number, overlap="queue")
        for number in range(MAX_QUEUED + 2)
    ]
    assert words[-2:] == ["queued", "skipped"]
    for number in range(MAX_KEPT + 10):
        room.store.claim("often", "m", due_ms=now_ms + 1_000 + number, overlap="missed")
    assert room.client.llen(schedule_keys("often")["history"]) == MAX_KEPT


def test_changed_schedule_does_not_run_missed_times(room):
    room.add(times=12, grace_s=60, missed="once")
    room.schedules.add("often", every="11m", job="x", missed="once", replace=True)
    room.process()
    assert (room.runs.begun, room.history()) == ([], [])


@pytest.mark.parametrize("overlap", ["skip", "cancel"])
def test_running_job_survives_a_change_of_its_schedule(room, overlap):
    reviews = ManualRuns()
    runner = ScheduleRunner(
        room.store, {"job": room.runs, "review": reviews}, grace_ms=2_000, lease_ms=30_000
    )
    room.add(times=1)
    runner.process_schedule("often")
    review = {"panel": "code", "root": "shop"}
    room.schedules.add(
        "often", every="10m", review=review, grace_s=3_600, overlap=overlap, replace=True, missed="once"
    )
    runner.process_schedule("often")
    assert room.history() == []
    if overlap == "cancel":
        room.client.hincrby(schedule_keys("often")["entry"], "last_ms", -900_000)
        runner.process_schedule("often")
        assert list(room.runs.ended) == room.runs.begun
        assert len(reviews.begun) == 1
    else:
        room.runs.end()
        runner.process_schedule("often")
        assert [outcome for outcome, _ in room.history()] == [RunOutcome.COMPLETED]
