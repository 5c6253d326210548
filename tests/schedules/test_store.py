"""The scripts of schedules: what is claimed, kept and given back, one call at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.text.ids import new_id
from symposia.schedules.schedule import RunOutcome, ScheduleRunRecord
from symposia.schedules.schedules import Schedules
from symposia.schedules.store import ScheduleStore
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import SCHEDULES_BEAT, SCHEDULES_LOOK, schedule_keys

NAME, KEYS = "often", schedule_keys("often")
FAR_MS = 4_102_444_800_000


@pytest.fixture
def book(redis_url) -> Iterator[ScheduleStore]:
    with connect(redis_url) as client:
        book = ScheduleStore(client)
        Schedules(book, [].append).add(NAME, every="10m", job="x")
        yield book


@pytest.fixture
def claim(book):
    """Claims a time, a minute after the one before, or an occurrence by hand; answers its id and the script's word."""
    due_ms = book.now_ms()

    def claim(overlap: str = "queue", occurrence: str = "", *, by_hand: bool = False) -> tuple[str, str]:
        nonlocal due_ms
        due_ms += 60_000
        occurrence = occurrence or new_id()
        word = book.claim(NAME, occurrence, due_ms=due_ms, overlap=overlap, by_hand=by_hand)
        return occurrence, word

    return claim


def record(occurrence):
    return ScheduleRunRecord(id=occurrence, due_ms=1, outcome=RunOutcome.COMPLETED, ended_ms=2)


def test_time_is_claimed_once(book):
    due_ms = book.now_ms() + 60_000
    assert book.claim(NAME, new_id(), due_ms=due_ms, overlap="queue") == "running"
    for before_ms in (0, 1):
        assert book.claim(NAME, new_id(), due_ms=due_ms - before_ms, overlap="queue") == "taken"
    assert book.claim(NAME, new_id(), due_ms=due_ms + 1, overlap="queue") == "queued"


def test_manual_run_is_claimed_once_and_takes_no_time(book, claim):
    by_hand, word = claim(by_hand=True)
    assert word == "running"
    assert claim(occurrence=by_hand, by_hand=True)[1] == "taken"
    assert book.claim(NAME, new_id(), due_ms=book.now_ms() + 1_000, overlap="queue") == "queued"
    assert book.get(NAME).running.by_hand


def test_a_paused_schedule_runs_by_hand_only(book, claim):
    book.pause(NAME, paused=True)
    assert claim()[1] == "paused"
    assert claim(by_hand=True)[1] == "running"


def test_skipped_runs_have_a_reason(book, claim):
    claim()
    assert claim("skip")[1] == "skipped"
    assert claim("cancel")[1] == "busy"
    assert claim("missed")[1] == "missed"
    assert claim("overtaken", by_hand=True)[1] == "skipped"
    for _ in range(100):
        assert claim()[1] == "queued"
    assert claim()[1] == "skipped"
    left_out = [(it.outcome, it.by_hand, it.detail) for it in book.history(NAME)]
    assert left_out == [
        (RunOutcome.SKIPPED, False, "the queue of runs is full"),
        (RunOutcome.SKIPPED, True, "a newer run was due"),
        (RunOutcome.MISSED, False, "no worker or beat was running when it was due"),
        (RunOutcome.SKIPPED, False, "an earlier run had not finished"),
    ]


def test_claimed_run_is_checked_at_once(book, claim):
    book._client.zadd(SCHEDULES_LOOK, {NAME: FAR_MS})
    claim()
    assert book._client.zscore(SCHEDULES_LOOK, NAME) <= book.now_ms()


def test_running_run_ends_once(book, claim):
    (first, _), (second, _) = claim(), claim()
    assert book.record_end(NAME, record(second)) == "other"
    assert book.record_end(NAME, record(first)) == "next"
    assert book.record_end(NAME, record(first)) == "other"
    assert book.get(NAME).running.id == second
    assert book.record_end(NAME, record(second)) == "idle"
    assert book.record_end(NAME, record(second)) == "other"
    assert [it.id for it in book.history(NAME)] == [second, first]
    assert book.get(NAME).running is None


def test_first_start_of_a_run_counts(book, claim):
    book.record_start(NAME, new_id(), kind="job")
    (first, _), _ = claim(), claim()
    book.record_start(NAME, new_id(), kind="review")
    assert book.get(NAME).running.started_ms == 0
    for kind in ("job", "review"):
        book.record_start(NAME, first, kind=kind)
        running = book.get(NAME).running
        assert (running.kind, running.started_ms > 0) == ("job", True)


def test_schedule_lease_belongs_to_one_worker(book):
    assert book.take_lease(NAME, "a", lease_ms=60_000) == "mine"
    assert book.take_lease(NAME, "a", lease_ms=60_000) == "mine", "asked again"
    assert book.take_lease(NAME, "b", lease_ms=60_000) == "other"
    assert book.take_lease(NAME, "a", lease_ms=0) == "mine"
    assert book.take_lease(NAME, "b", lease_ms=60_000) == "mine"
    assert book.release(NAME, "a", look_ms=FAR_MS) == "other"
    assert book.release(NAME, "b", look_ms=FAR_MS) == "released", "no other holder has asked for the lease"


def test_release_after_a_notice_checks_again(book):
    book.take_lease(NAME, "a", lease_ms=60_000)
    book.take_lease(NAME, "b", lease_ms=60_000)
    assert book.take_lease(NAME, "a", lease_ms=60_000) == "mine", "it renews its lease"
    assert book.release(NAME, "a", look_ms=FAR_MS) == "again"
    assert book.release(NAME, "b", look_ms=FAR_MS) == "other"
    assert book.release(NAME, "a", look_ms=FAR_MS) == "released"
    assert book._client.zscore(SCHEDULES_LOOK, NAME) == FAR_MS
    assert book.take_lease(NAME, "b", lease_ms=60_000) == "mine"


def test_pause_skips_due_runs(book):
    before_ms = book.now_ms()
    book.pause(NAME, paused=False)
    assert book.get(NAME).last_ms <= before_ms, "it was not paused"
    book.pause(NAME, paused=True)
    assert book._client.zscore(SCHEDULES_BEAT, KEYS["entry"]) is None
    book._client.hset(KEYS["entry"], "last_ms", 1)
    book._client.zadd(SCHEDULES_LOOK, {NAME: FAR_MS})
    book.pause(NAME, paused=False)
    assert book.get(NAME).last_ms >= before_ms
    assert book._client.zscore(SCHEDULES_BEAT, KEYS["entry"]) == 0
    assert book._client.zscore(SCHEDULES_LOOK, NAME) <= book.now_ms()


def test_schedule_is_replaced_only_on_request(book):
    same = book.get(NAME).schedule
    other = same.model_copy(update={"job": "y"})
    with pytest.raises(InvalidInput, match="is already used"):
        book.put(same)
    assert book._client.zscore(SCHEDULES_BEAT, KEYS["entry"]) is not None
    assert book.put(same, mode="replace") == "kept"
    assert book.put(same, mode="replace", source="settings") == "replaced"
    assert book.put(other, mode="replace", source="settings") == "replaced"
    assert book.get(NAME).schedule == other


def test_replaced_schedule_keeps_its_pause_and_grid(book):
    book._client.hset(KEYS["entry"], "origin_ms", 1_000)
    book.pause(NAME, paused=True)
    other = book.get(NAME).schedule.model_copy(update={"job": "y"})
    assert book.put(other, mode="replace") == "replaced"
    assert book._client.zscore(SCHEDULES_BEAT, KEYS["entry"]) is None
    assert book.get(NAME).origin_ms == 1_000


def test_number_of_schedules_is_capped(book, monkeypatch):
    monkeypatch.setattr("symposia.schedules.store.MAX_SCHEDULES", 2)
    two, three = (book.get(NAME).schedule.model_copy(update={"name": name}) for name in ("two", "three"))
    assert book.put(two) == "added"
    with pytest.raises(InvalidInput, match="limit of 2"):
        book.put(three)
    assert book.put(two.model_copy(update={"job": "y"}), mode="replace") == "replaced"
