"""Markers of notices: one worker sends a notice, and none sends it after it may have arrived."""

from __future__ import annotations

import pytest
from redis import Redis

from symposia.state.notices import MAX_ATTEMPTS, Claim, NoticeId, NoticeStore
from symposia.state.redis.keys import session_key
from symposia.state.redis.readers import server_ms

HOUR_MS = 3_600_000
MAIL, CHAT = (NoticeId("q", "ann", "question", channel) for channel in ("email", "chat"))
NEVER = Claim(attempt=None)


@pytest.fixture
def store(client: Redis) -> NoticeStore:
    return NoticeStore(client)


def claim(store: NoticeStore, notice: NoticeId = MAIL, *, lease_ms: int = HOUR_MS) -> Claim:
    return store.claim("s", notice, lease_ms=lease_ms, ttl_ms=2 * HOUR_MS)


def test_notice_is_granted_to_one_worker(store: NoticeStore, client: Redis) -> None:
    before_ms = server_ms(client)
    assert [claim(store), claim(store, CHAT)] == [Claim(attempt=1)] * 2
    held = claim(store)
    assert held.attempt is None
    assert before_ms + HOUR_MS <= (held.until_ms or 0) <= server_ms(client) + HOUR_MS


def test_markers_live_as_long_as_the_longest(store: NoticeStore, client: Redis) -> None:
    claim(store)
    store.claim("s", CHAT, lease_ms=1, ttl_ms=60_000)
    assert client.pttl(session_key("s", "notices")) > HOUR_MS


@pytest.mark.parametrize(
    ("lease_ms", "marks"),
    [
        (HOUR_MS, {"sending": True, "sent": True, "retry": False, "failed": False}),
        (HOUR_MS, {"sending": True, "failed": True, "sent": False}),
        (HOUR_MS, {"retry": True, "sending": False, "sent": False}),
        (HOUR_MS, {"sent": True, "sending": False}),
        (0, {"sending": False, "sent": True, "failed": False}),
    ],
)
def test_marks_follow_the_states(store: NoticeStore, lease_ms: int, marks: dict[str, bool]) -> None:
    claim(store, lease_ms=lease_ms)
    assert {state: store.mark("s", MAIL, 1, state, in_ms=HOUR_MS) for state in marks} == marks
    *_, last = (state for state, is_marked in marks.items() if is_marked)
    assert store.read("s")[MAIL.field].state == last


def test_only_the_newest_attempt_is_marked(store: NoticeStore) -> None:
    assert not store.mark("s", MAIL, 0, "sent")
    claim(store, lease_ms=0)
    assert claim(store) == Claim(attempt=2)
    assert not store.mark("s", MAIL, 1, "sent")
    assert store.mark("s", MAIL, 2, "retry", error="busy")
    assert store.failures("s", "q") == ["question to ann by email: busy"]
    assert claim(store) == Claim(attempt=3)


@pytest.mark.parametrize("state", ["sent", "failed"])
def test_ended_notice_is_not_granted(store: NoticeStore, state: str) -> None:
    claim(store)
    store.mark("s", MAIL, 1, state)
    assert claim(store) == NEVER


def test_notice_of_a_worker_lost_while_sending_has_failed(store: NoticeStore) -> None:
    claim(store)
    store.mark("s", MAIL, 1, "sending", in_ms=0)
    assert claim(store) == NEVER
    assert "may have arrived" in store.failures("s", "q")[0]


@pytest.mark.parametrize("error", ["", "busy"])
def test_attempts_are_limited(store: NoticeStore, error: str) -> None:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert claim(store, lease_ms=0) == Claim(attempt=attempt)
        if error:
            store.mark("s", MAIL, attempt, "retry", error=error)
    assert claim(store) == NEVER
    assert store.read("s")[MAIL.field].state == "failed"
    assert (error or "workers were lost before they sent it") in store.failures("s", "q")[0]
