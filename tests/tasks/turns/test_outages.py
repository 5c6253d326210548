"""The write of a paid turn waits for Redis until its deadline."""

from __future__ import annotations

import time

import pytest

from servers.ports import own_port
from symposia.models.errors import RedisUnavailable, SessionNotFound
from symposia.state.redis.connect import connect
from symposia.tasks.turns import turn as patience
from symposia.tasks.turns.turn import retry_during_outage


class Clock:
    """A clock that advances only in sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_outage_is_an_error_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "time", Clock())
    tries = 0
    with connect(f"redis://127.0.0.1:{own_port()}/0", retries=0) as client:

        def write() -> object:
            nonlocal tries
            tries += 1
            return client.ping()

        with pytest.raises(RedisUnavailable):
            retry_during_outage(write, until=1, what="turn 1")
    assert tries == 1 + 1 / patience.PAUSE_S


def test_permanent_error_is_raised_at_once() -> None:
    tries = 0

    def write() -> None:
        nonlocal tries
        tries += 1
        raise SessionNotFound("gone")

    with pytest.raises(SessionNotFound):
        retry_during_outage(write, until=time.monotonic() + 60, what="turn 1")
    assert tries == 1


def test_waiting_is_logged_once_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([RedisUnavailable("redis://h"), RedisUnavailable("redis://h"), None])

    def write() -> str:
        if error := next(answers):
            raise error
        return "committed"

    assert retry_during_outage(write, until=time.monotonic() + 60, what="turn 7 of s") == "committed"
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "writing turn 7 of s failed, retrying"
    ]
