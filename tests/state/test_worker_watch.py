"""A call that waits for a session warns once if no worker is running."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from redis import Redis

from symposia.state.presence import WorkerPresence
from symposia.state.redis.keys import WORKERS
from symposia.state.worker_routes import LOOK_EVERY_S, WorkerWatch

SESSION = "0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"


class Clock:
    """A clock that tests advance."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str]]]:
    """What was logged since the last call: level and message."""
    caplog.set_level(logging.INFO, logger="symposia.state.worker_routes")

    def take() -> list[tuple[str, str]]:
        found = [(record.levelname, record.getMessage()) for record in caplog.records]
        caplog.clear()
        return found

    return take


MISSING = (
    "WARNING",
    f"no worker is running, session {SESSION} is waiting: start one with `symposia worker` or `symposia up`",
)
BACK = ("INFO", f"a worker is running again, session {SESSION} continues")


def test_only_changes_are_logged(client: Redis, clock: Clock, lines):
    book = WorkerPresence(client)
    watch = WorkerWatch(book, f"session {SESSION}", clock=clock)

    def look_later() -> list[tuple[str, str]]:
        watch.check()
        clock.now += LOOK_EVERY_S
        return lines()

    assert [look_later() for _ in range(3)] == [[MISSING], [], []]
    book.announce("w", ["a"])
    assert [look_later() for _ in range(2)] == [[BACK], []]
    book.leave("w")
    assert [look_later() for _ in range(2)] == [[MISSING], []]


def test_missing_agents_are_logged_once(client: Redis, clock: Clock, lines):
    book, awaited = WorkerPresence(client), ["ada", "ben"]
    book.announce("w", ["a"])
    watch = WorkerWatch(book, f"session {SESSION}", awaited_agents=lambda: tuple(awaited), clock=clock)

    def look_later() -> list[str]:
        watch.check()
        clock.now += LOOK_EVERY_S
        return [line.split(", session")[0] for _, line in lines()]

    assert [look_later() for _ in range(2)] == [["no worker knows agents ada, ben"], []]
    awaited.clear()
    assert [look_later() for _ in range(2)] == [["a worker with the agent is running"], []]


def test_watch_asks_nothing_before_it_is_due(client: Redis, clock: Clock, lines):
    book = WorkerPresence(client)
    book.announce("w", ["a"])
    watch = WorkerWatch(book, f"session {SESSION}", clock=clock)
    watch.check()
    book.leave("w")
    watch.check()
    assert not watch.is_due()
    assert lines() == []
    clock.now += LOOK_EVERY_S
    assert watch.is_due()
    watch.check()
    assert lines() == [MISSING]


def test_nothing_is_logged_within_the_grace(client: Redis, clock: Clock, lines):
    watch = WorkerWatch(WorkerPresence(client), f"session {SESSION}", grace_s=30, clock=clock)
    watch.check()
    clock.now += 29
    watch.check()
    assert lines() == []
    clock.now += LOOK_EVERY_S
    watch.check()
    assert lines() == [MISSING]


def test_watch_ignores_an_unreachable_server(clock: Clock, lines):
    nowhere = Redis(port=1, retry=None, socket_connect_timeout=0.1)
    WorkerWatch(WorkerPresence(nowhere), f"session {SESSION}", clock=clock).check()
    assert lines() == []


def test_one_live_worker_among_silent_ones_is_found(client: Redis):
    book = WorkerPresence(client)
    assert not book.is_any_alive()
    for number in range(8):
        client.hset(WORKERS, f"silent{number}", '{"at": 1, "agents": []}')
    client.hset(WORKERS, "other release", "?")
    assert not book.is_any_alive()
    book.announce("w", [])
    client.hset(WORKERS, "silent", '{"at": 1, "agents": []}')
    assert all(book.is_any_alive() for _ in range(20))
