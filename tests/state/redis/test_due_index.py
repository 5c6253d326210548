"""The due index: claims exclude each other, and no check is later than requested."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sessions.table import until
from symposia.state.redis import due_index as timetable_module
from symposia.state.redis.keys import DUE, SESSIONS
from symposia.state.sessions import index as index_module

HOUR = 3_600_000
#: A time of this age, which a double tells from others by 4096ths of a millisecond.
MOMENT_MS = 1_800_000_000_000


def due(index, session_id):
    return index._client.zscore(DUE, session_id)


def listed(index, **how):
    return [session_id for session_id, _ in index.iterate_listed(**how)]


def test_a_session_is_claimed_when_its_time_has_come(index):
    index.add_session("now", look_in_ms=0)
    index.add_session("later", look_in_ms=HOUR)
    assert index.claim(limit=10, hold_ms=HOUR) == ["now"]
    assert index.claim(limit=10, hold_ms=HOUR) == []


def test_longest_overdue_sessions_come_first(index):
    now = index.now_ms()
    for i in range(5):
        index.add_session(f"s{i}", look_in_ms=HOUR)
        index.set_due_by(f"s{i}", now - i)
    assert index.claim(limit=2, hold_ms=HOUR) == ["s4", "s3"]
    assert index.claim(limit=2, hold_ms=HOUR) == ["s2", "s1"]


def test_two_sweeps_never_claim_the_same_session(index):
    for i in range(200):
        index.add_session(f"s{i}", look_in_ms=0)
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda _: index.claim(limit=30, hold_ms=HOUR), range(8)))
    claimed = [session_id for ids in claims for session_id in ids]
    assert len(claimed) == len(set(claimed)) == 200


def test_claim_of_a_dead_sweep_is_free_after_the_hold(index):
    index.add_session("s", look_in_ms=0)
    assert index.claim(limit=1, hold_ms=20) == ["s"]
    assert until(lambda: index.claim(limit=1, hold_ms=20)) == ["s"]


def test_late_request_does_not_enter_an_ended_session(index):
    """As by a worker whose turn was answered, and the session over, before it heard that the turn was parked."""
    index.add_session("s", look_in_ms=0)
    index.mark_ended("s")
    index.set_due_by("s", index.now_ms() + HOUR)
    assert index.unfinished() == 0


def test_checked_session_waits_for_its_next_time(index):
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=1_000)
    index.reschedule("s", index.now_ms() + HOUR)
    assert due(index, "s") > index.now_ms() + HOUR - 10_000
    assert index.claim(limit=1, hold_ms=1_000) == []


@pytest.mark.parametrize("asked_in_ms", [0, 300])
def test_request_during_a_sweep_is_not_delayed(index, asked_in_ms):
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=10_000)
    asked = index.now_ms() + asked_in_ms
    index.set_due_by("s", asked)
    index.reschedule("s", index.now_ms() + HOUR)
    assert due(index, "s") == asked
    assert until(lambda: index.claim(limit=1, hold_ms=HOUR)) == ["s"]


def test_check_can_be_moved_earlier(index):
    index.add_session("s", look_in_ms=HOUR)
    at = index.now_ms() + 50_000
    index.reschedule("s", at)
    assert due(index, "s") == at
    index.set_due_by("s", at + 1)
    assert due(index, "s") == at
    index.set_due_by("s", at - 1)
    assert due(index, "s") == at - 1


def test_sweep_does_not_enter_an_ended_session(index):
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=HOUR)
    index.mark_ended("s")
    index.reschedule("s", index.now_ms())
    assert due(index, "s") is None
    assert index.unfinished() == 0
    assert listed(index) == ["s"]


def test_adding_a_session_again_keeps_the_earlier_time(index):
    index.add_session("s", look_in_ms=10_000)
    first = due(index, "s")
    index.add_session("s", look_in_ms=HOUR)
    assert due(index, "s") == first
    index.add_session("s", look_in_ms=0)
    assert due(index, "s") < first


def test_sweep_does_not_undo_an_entry(index):
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=10_000)
    claimed = index.time_of("s")
    index.add_session("s", look_in_ms=HOUR)
    index.drop("s", claimed)
    assert due(index, "s") > index.now_ms() + HOUR - 10_000


def test_sweep_keeps_a_session_claimed_by_another(index):
    """As one whose first answer was lost, and that asks again."""
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=10_000)
    claimed = index.time_of("s")
    index.drop("s", claimed)
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=10_001)
    index.drop("s", claimed)
    assert due(index, "s") is not None


def test_request_since_the_claim_is_served(index):
    index._client.zadd(SESSIONS, {"s": 1})
    index.add_due("s", 1)
    index.claim(limit=1, hold_ms=10_000)
    index.set_due_by("s", 2)
    index.drop_orphan("s", index)
    assert due(index, "s") == 2


def test_dropped_session_can_be_entered_again(index):
    index.add_session("s", look_in_ms=0)
    index.claim(limit=1, hold_ms=10_000)
    index.drop("s", index.time_of("s"))
    index.add_due("s", index.now_ms())
    assert index.claim(limit=1, hold_ms=HOUR) == ["s"]


def test_sessions_are_listed_newest_first_page_by_page(index):
    for i in range(7):
        index._client.zadd(SESSIONS, {f"s{i}": i // 3})
    in_order = ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]
    for page_size in range(1, 9):
        assert listed(index, page_size=page_size) == in_order


def test_concurrent_changes_hide_no_listed_session(index):
    for i in range(9):
        index._client.zadd(SESSIONS, {f"s{i}": i})
    reading = index.iterate_listed(page_size=2)
    seen = [next(reading)[0] for _ in range(2)]
    index.unlist("s8", 8)
    index.unlist("s7", 7)
    index._client.zadd(SESSIONS, {"new": 99})
    seen += [session_id for session_id, _ in reading]
    assert seen == [f"s{i}" for i in range(8, -1, -1)]
    assert listed(index) == ["new", *seen[2:]]


def test_session_about_to_be_opened_stays_listed(index):
    index.add_session("s", look_in_ms=0)
    index.unlist("s", dict(index.iterate_listed())["s"])
    assert listed(index) == ["s"]


def test_session_listed_again_since_the_check_stays(index):
    index._client.zadd(SESSIONS, {"s": 5})
    before = dict(index.iterate_listed())["s"]
    index.list_session("s", 5)
    index.unlist("s", before)
    assert listed(index) == ["s"]


@pytest.mark.parametrize("fraction", [1, 2_047])
def test_relisted_session_gets_another_time(index, monkeypatch, fraction):
    monkeypatch.setattr(timetable_module, "randrange", lambda *_: fraction)
    for _ in range(3):
        index.list_session("s", MOMENT_MS)
        ((_, time),) = index.iterate_listed()
        index.list_session("s", MOMENT_MS)
        index.unlist("s", time)
        ((_, after),) = index.iterate_listed()
        assert after != time
        assert int(after) == int(time) == MOMENT_MS


def test_the_listing_keeps_the_newest_only(index, monkeypatch):
    monkeypatch.setattr(index_module, "LISTED", 3)
    for i in range(5):
        index._client.zadd(SESSIONS, {f"s{i}": i})
    index.add_session("newest", look_in_ms=0)
    assert listed(index) == ["newest", "s4", "s3"]
