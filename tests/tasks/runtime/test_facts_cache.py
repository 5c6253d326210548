"""What a worker remembers of a session, and for how long it may believe it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from redis import Redis

from symposia.models.errors import SessionNotFound
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.ids import new_id
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.sessions.requests import Opening
from symposia.state.sessions.store import SessionStore
from symposia.tasks.runtime.runtime import FACTS_TTL_S, FactsCache


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    """A server on which one id is used for one session after another."""

    store: SessionStore
    clock: Clock
    cache: FactsCache
    id: str

    def open(self, *names: str) -> int:
        """Opens the session; answers when."""
        collab = Collab(
            collab_id=self.id,
            title="t",
            purpose="p",
            mode="round_robin",
            participants=[Participant(participant_id=name) for name in names],
        ).activated()
        spec = SessionSpec(agents={}, stop=MaxTurns(1)).model_dump_json()
        answer = self.store.open(Opening(collab=collab, spec=spec, digest=",".join(names)))
        assert answer.state is not None
        return answer.state.opened_ms

    def expire(self) -> None:
        parts = ("session", "dialog", "events", "journal", "turns", "board")
        self.store.client.delete(*(session_key(self.id, part) for part in parts))

    def cast(self, opened_ms: int | None = None) -> list[str]:
        return list(self.cache.get(self.id, opened_ms).roster)


@pytest.fixture
def place(redis_url: str) -> Place:
    client: Redis = connect(redis_url)
    store, clock = SessionStore(client), Clock()
    return Place(store, clock, FactsCache(store, size=2, clock=clock), new_id())


def reads(place: Place) -> int:
    return int(place.store.client.info("commandstats").get("cmdstat_hmget", {}).get("calls", 0))


def test_session_is_read_once_and_then_cached(place: Place):
    opened = place.open("ann")
    assert place.cast() == ["ann"]
    before = reads(place)
    assert place.cast() == place.cast(opened) == ["ann"]
    assert reads(place) == before


def test_reused_id_means_the_later_session(place: Place):
    place.open("ann")
    assert place.cast() == ["ann"]
    place.expire()
    place.open("bob")
    place.clock.now += FACTS_TTL_S
    assert place.cast() == ["bob"]


def test_known_opening_time_selects_its_session(place: Place):
    first = place.open("ann")
    assert place.cast() == ["ann"]
    place.expire()
    while (second := place.open("bob")) == first:  # within the same millisecond
        place.expire()
    assert place.cast(second) == ["bob"]


def test_running_session_is_read_once(place: Place):
    opened = place.open("ann")
    place.cast()
    before = reads(place)
    for _ in range(5):
        place.clock.now += FACTS_TTL_S * 0.9
        assert place.cast(opened) == place.cast() == ["ann"]
    assert reads(place) == before


def test_ended_session_is_not_cached(place: Place):
    place.open("ann")
    place.store.cancel(place.id, reason="enough", retention_ms=60_000)
    assert place.cast() == ["ann"]
    place.expire()
    with pytest.raises(SessionNotFound):
        place.cast()


def test_cache_size_is_bounded(place: Place):
    def another() -> Callable[[], list[str]]:
        there = Place(place.store, place.clock, place.cache, new_id())
        there.open("ann")
        there.cast()
        return there.cast

    ask_first, _, _ = another(), another(), another()
    before = reads(place)
    ask_first()
    assert reads(place) > before
