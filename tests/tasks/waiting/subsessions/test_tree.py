"""What reaches down from a session to its sub-sessions, also if the process that should do it has died."""

from __future__ import annotations

import dataclasses

import pytest

from symposia.models.protocol.collab import CollabStatus
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.redis.formats import FORMATS
from symposia.state.redis.keys import DUE, session_key
from symposia.tasks.runtime.runtime import Boundary

ASKING = """
[agents.person]
kind = "human"
"""
INSIDE = {
    "title": "Inside",
    "purpose": "wait for a person",
    "mode": "round_robin",
    "participants": [{"participant_id": "ben", "kind": "human"}],
    "stop": {"max_rounds": 1},
}
MIDDLE = {
    "title": "Middle",
    "purpose": "wait for a session",
    "mode": "round_robin",
    "participants": [{"participant_id": "inner", "session": INSIDE}],
    "stop": {"max_rounds": 1},
}


@pytest.fixture
def tree(installation):
    """A session whose turn waits for a session, which waits for a session, which waits for a person."""
    job = installation.submit("round_robin", {"middle": {"session": MIDDLE}}, stop=MaxRounds(1))
    installation.work()
    (middle,) = job.children()
    (inside,) = middle.children()
    return job, middle, inside


def statuses(*jobs):
    return [job.status().value for job in jobs]


def test_cancelled_root_leaves_nothing_running(installation, tree):
    tree[0].cancel()
    assert statuses(*tree) == ["cancelled"] * 3
    installation.sweep()
    assert installation.runtime.index.unfinished() == 0


def test_suspension_and_resumption_reach_down(installation, tree):
    tree[0].suspend()
    assert statuses(*tree) == ["suspended"] * 3
    tree[0].resume()
    assert statuses(*tree) == ["active"] * 3
    tree[2].reply("ben", "done")
    installation.work()
    assert statuses(*tree) == ["completed"] * 3
    assert [it.content for it in tree[0].messages()] == ["done"]


def test_child_that_was_suspended_by_itself_stays_suspended(tree):
    tree[1].suspend()
    tree[0].suspend()
    tree[0].resume()
    assert statuses(*tree) == ["active", "suspended", "suspended"]


def test_sweep_finishes_a_cancel_that_was_interrupted(installation, tree):
    store = installation.runtime.store
    store.cancel(tree[0].id, reason="test", retention_ms=60_000)
    installation.sweep_until(tree[0], lambda: statuses(*tree) == ["cancelled"] * 3)


@pytest.mark.parametrize("verb", ["cancel", "suspend"])
def test_child_of_a_newer_version_is_left_to_a_newer_worker(installation, tree, verb):
    redis, key = installation.runtime.store.client, session_key(tree[1].id, "session")
    redis.hset(key, "format", FORMATS["session"] + 1)
    before = redis.hgetall(key)
    getattr(tree[0], verb)()
    wanted = {"cancel": "cancelled", "suspend": "suspended"}[verb]
    assert (statuses(tree[0]), redis.hgetall(key)) == ([wanted], before)
    redis.hset(key, "format", FORMATS["session"])  # as a newer worker reads it
    installation.sweep_until(tree[1], lambda: statuses(*tree[1:]) == [wanted] * 2)


@pytest.mark.parametrize("verb", ["cancel", "suspend", "resume"])
def test_child_follows_its_parent_without_it(installation, tree, verb):
    store, wanted = (
        installation.runtime.store,
        {"cancel": "cancelled", "suspend": "suspended", "resume": "active"},
    )
    if verb == "resume":
        tree[1].suspend()
        tree[1].resume()
        tree[0].suspend()
        store.resume(tree[0].id)
    elif verb == "suspend":
        store.suspend(tree[0].id)
    else:
        store.cancel(tree[0].id, reason="test", retention_ms=60_000)
        store.client.zrem(DUE, tree[0].id)  # its own sweep never happens
    installation.sweep_until(tree[1], lambda: statuses(*tree[1:]) == [wanted[verb]] * 2)


def test_end_of_a_child_that_was_not_reported_is_found(installation, tree):
    installation.runtime.store.cancel(tree[1].id, reason="test", retention_ms=60_000)
    installation.sweep_until(tree[1], lambda: tree[0].status() is CollabStatus.CANCELLED)
    assert "test" in tree[0].state().detail


def test_dropped_turn_cancels_its_child(installation):
    job = installation.submit(
        "broadcast",
        {"slow": {"session": INSIDE}, "ann": "ann"},
        stop=MaxRounds(1),
        options={"quorum": 1},
    )
    installation.work()
    assert job.result().ok
    (child,) = job.children()
    assert (child.status().value, child.state().reason) == ("cancelled", "parent_ended")


class Killed(BaseException):
    """The worker is killed."""


@pytest.mark.long
@pytest.mark.parametrize(
    "boundary",
    [
        Boundary.AFTER_BEGIN,
        Boundary.AFTER_PARK,
        Boundary.AFTER_OPEN,
        Boundary.BEFORE_COMMIT,
        Boundary.BEFORE_ANSWER,
    ],
)
def test_killed_worker_opens_and_answers_once(make_installation, boundary):
    installation = make_installation(lease_s=1)
    job = installation.submit("round_robin", {"panel": "panel"}, stop=MaxRounds(1), messages=["a draft"])
    kills = []

    def kill(reached, _session, _turn):
        if reached is boundary and not kills:
            kills.append(reached)
            raise Killed

    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=kill)
    try:
        installation.work()
    except Killed:
        installation.queue.waiting.clear()
    assert kills

    def ended():
        for it in (job, *job.children()):
            installation.runtime.index.set_due_by(it.id, 0)
        installation.sweep()
        return job.state().is_final

    installation.sweep_until(job, ended)
    assert [it.content for it in job.messages()] == ["a draft", "heard too long"]
    (child,) = job.children()
    assert child.result().turns == 2
    assert job.state().usage == child.state().usage
