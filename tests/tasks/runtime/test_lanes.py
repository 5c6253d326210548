"""Lanes of tenants: the choice of a lane, what a worker knows of the other queues, and sessions that share a worker."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.sessions.priority import Priority, priority_queue, split_priority
from symposia.patches.queue_rotation import PERIOD, LaneOrder, QueueRotation
from symposia.state.presence import WorkerPresence, WorkerRoute
from symposia.state.redis.connect import connect
from symposia.state.sessions.index import QueueProgress
from symposia.state.worker_routes import WorkerRoutes
from symposia.tasks.runtime.lanes import LANES, lane_queues, preferred_lane, spread_lane


@given(st.text(), st.integers(1, 64))
def test_tenant_prefers_one_lane(tenant: str, lanes: int):
    assert 0 <= preferred_lane(tenant, lanes) < lanes
    assert preferred_lane(tenant, lanes) == preferred_lane(tenant, lanes)


@given(st.text(), st.integers(1, 64), st.integers(1, 16))
def test_weighted_tenant_has_as_many_lanes(tenant: str, lanes: int, weight: int):
    first = preferred_lane(tenant, lanes)
    picked = {spread_lane(first, lanes, session=str(it), weight=weight) for it in range(400)}
    assert picked == {(first + number) % lanes for number in range(min(weight, lanes))}


def test_lane_of_a_tenant_is_that_of_every_release():
    assert [preferred_lane(tenant, LANES) for tenant in ("a", "b", "shop")] == [15, 5, 6]
    own = [f"q.{name}-priority" for name in ("high", "low")]
    assert lane_queues("q", 1) == (*own, "q.lane.0.high-priority", "q.lane.0", "q.lane.0.low-priority")
    assert len(lane_queues("q")) == 3 * (1 + LANES) - 1


@given(st.text(), st.sampled_from(Priority))
def test_name_of_a_queue_tells_its_priority(name: str, priority: Priority):
    queue = split_priority(name)[0]
    assert split_priority(priority_queue(queue, priority)) == (queue, priority)


QUEUES = [priority_queue(name, priority) for name in ("a", "b") for priority in Priority]


@given(st.lists(st.tuples(st.lists(st.sampled_from(QUEUES), max_size=4), st.booleans()), max_size=300))
def test_no_priority_waits_for_a_whole_period(steps: list[tuple[list[str], bool]]):
    """Lanes alternate, and of eight messages of a lane one has each priority that waits."""
    rotation, waiting = QueueRotation(list(QUEUES)), Counter[str]()
    missed, last = Counter[str](), ""
    for arrivals, is_taken in steps:
        waiting.update(arrivals)
        taken = next((name for name in rotation.consume(len(QUEUES)) if waiting[name]), None)
        if taken is None or not is_taken:
            continue
        lane = split_priority(taken)[0]
        others = {name for name in QUEUES if waiting[name] and split_priority(name)[0] != lane}
        assert lane != last or not others
        rotation.rotate(taken)
        waiting[taken] -= 1
        last = lane
        for priority in Priority:
            name = priority_queue(lane, priority)
            missed[name] = missed[name] + 1 if waiting[name] and name != taken else 0
            assert missed[name] < PERIOD


def test_priorities_of_a_busy_lane():
    order, taken = LaneOrder(QUEUES[:3]), []
    for _ in range(11 * PERIOD):
        taken.append(order.queues[0])
        order.record_taken(order.queues[0])
    later = Counter(taken[PERIOD:])  # at first each queue counts as one that has been empty for long
    assert [later[name] for name in QUEUES[:3]] == [60, 10, 10]


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=40))
def test_progress_never_passes_a_waiting_message(arrivals: list[list[int]]):
    """A worker takes one message after each group of arrivals; what waits was sent after the reported time."""
    names = ["q0", "q1", *(priority_queue("q2", priority) for priority in Priority)]
    waiting: dict[str, list[int]] = {name: [] for name in names}
    rotation, progress, now_ms = QueueRotation(list(names)), QueueProgress(None), 0
    for group in arrivals:
        for number in group:
            now_ms += 1
            waiting[names[number]].append(now_ms)
        taken = next((name for name in rotation.consume(len(names)) if waiting[name]), None)
        if taken is not None:
            sent_ms = waiting[taken].pop(0)
            rotation.rotate(taken)
            progress.record_taken(sent_ms, queues=(taken, *rotation.empty), among=names)
        heads = [sent[0] for sent in waiting.values() if sent]
        assert progress._newest_ms < min(heads, default=now_ms + 1)


def test_lost_message_of_a_quiet_lane_is_passed_by_a_busy_one():
    rotation, progress = QueueRotation(["quiet", "busy"]), QueueProgress(None)
    for sent_ms in (1, 2, 3):
        rotation.consume(2)
        rotation.rotate("busy")
        progress.record_taken(sent_ms, queues=("busy", *rotation.empty), among=("quiet", "busy"))
    assert progress._newest_ms == 3


@pytest.mark.parametrize(("announced", "lanes"), [([], 0), ([16], 16), ([16, 16], 16), ([16, 0], 0)])
def test_lanes_are_used_while_all_workers_consume_them(redis_url: str, announced: list[int], lanes: int):
    with connect(redis_url) as client:
        presence = WorkerPresence(client)
        for number, count in enumerate(announced):
            presence.announce(f"w{number}@here", [], route=WorkerRoute(lanes=count))
        assert WorkerRoutes(presence).count_lanes() == lanes
