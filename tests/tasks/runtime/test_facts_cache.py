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
class CachedSession:
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
def session(redis_url: str) -> CachedSession:
    client: Redis = connect(redis_url)
    store, clock = SessionStore(client), Clock()
    return CachedSession(store, clock, FactsCache(store, size=2, clock=clock), new_id())


def reads(session: CachedSession) -> int:
    return int(session.store.client.info("commandstats").get("cmdstat_hmget", {}).get("calls", 0))


def test_session_is_read_once_and_then_cached(session: CachedSession):
    opened = session.open("ann")
    assert session.cast() == ["ann"]
    before = reads(session)
    assert session.cast() == session.cast(opened) == ["ann"]
    assert reads(session) == before


def test_reused_id_means_the_later_session(session: CachedSession):
    session.open("ann")
    assert session.cast() == ["ann"]
    session.expire()
    session.open("bob")
    session.clock.now += FACTS_TTL_S
    assert session.cast() == ["bob"]


def test_known_opening_time_selects_its_session(session: CachedSession):
    first = session.open("ann")
    assert session.cast() == ["ann"]
    session.expire()
    while (second := session.open("bob")) == first:  # within the same millisecond
        session.expire()
    assert session.cast(second) == ["bob"]


def test_running_session_is_read_once(session: CachedSession):
    opened = session.open("ann")
    session.cast()
    before = reads(session)
    for _ in range(5):
        session.clock.now += FACTS_TTL_S * 0.9
        assert session.cast(opened) == session.cast() == ["ann"]
    assert reads(session) == before


def test_ended_session_is_not_cached(session: CachedSession):
    session.open("ann")
    session.store.cancel(session.id, reason="enough", retention_ms=60_000)
    assert session.cast() == ["ann"]
    session.expire()
    with pytest.raises(SessionNotFound):
        session.cast()


def test_cache_size_is_bounded(session: CachedSession):
    def another() -> Callable[[], list[str]]:
        there = CachedSession(session.store, session.clock, session.cache, new_id())
        there.open("ann")
        there.cast()
        return there.cast

    ask_first, _, _ = another(), another(), another()
    before = reads(session)
    ask_first()
    assert reads(session) > before
