"""Fuzzed keys of a session are read or reported as corrupt; nothing hangs and the sweep continues."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from redis import Redis

from documents.hammer import JSON, TEXTS, as_json, depths, garbled, hammer, nearly
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.errors import ScriptError, SymposiaError
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.redis.scripts import evaluate, load_script

ID = "0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"
AT = "2026-01-01T00:00:00.000Z"
SAID = {
    "event_id": ID,
    "event_type": "dialog.message",
    "source": "collab",
    "timestamp": AT,
    "data": {"turn_number": 1},
}
RECORDS: dict[str, dict[str, Any]] = {
    "dialog": {"role": "agent", "content": "hello", "timestamp": AT, "event": SAID},
    "events": {
        "event_id": ID,
        "event_type": "MAPTurnCompleted",
        "session_id": ID,
        "timestamp": AT,
        "payload": {
            "turn_number": 1,
            "token_id": ID,
            "result": {"outcome": "message", "usage": {"requests": 1}},
        },
    },
    "journal": {"event_id": ID, "event_type": "session.active", "source": "collab", "timestamp": AT},
}
FIELD = {"dialog": "m", "events": "e", "journal": "e"}
LOOKS: list[Callable[[CollabJob], object]] = [
    lambda job: list(job.messages()),
    lambda job: list(job.events()),
    lambda job: job.collab(),
    lambda job: job.dialog(),
    lambda job: job.board(),
    lambda job: job.state().status,
    lambda job: job.state().usage,
    lambda job: job.state().records,
    lambda job: job.turn_state(),
    lambda job: job.graph("text"),
    lambda job: next(job.live()),
]


@pytest.fixture
def redis(redis_url: str) -> Redis:
    return connect(redis_url)


@pytest.fixture
def job(redis_url: str, tmp_path: Path) -> CollabJob:
    client = Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))
    people = [{"participant_id": "ann"}, {"participant_id": "bob"}]
    return client.submit({"title": "t", "purpose": "p", "mode": "swarm", "participants": people})


def looked_at(job: CollabJob) -> None:
    """Each look by itself: one that is refused does not spare the others."""
    for look in LOOKS:
        with suppress(SymposiaError):
            look(job)


@depths
@pytest.mark.leaves_keys
@pytest.mark.parametrize("stream", RECORDS)
def test_fuzzed_stream_entries(job: CollabJob, redis: Redis, stream: str, examples: int) -> None:
    key = session_key(job.id, stream)
    texts = garbled(as_json(nearly(RECORDS[stream]))) | st.binary(max_size=20)

    def use(text: str | bytes) -> None:
        entry = redis.xadd(
            key, {FIELD[stream]: text if isinstance(text, bytes) else text.encode(errors="replace")}
        )
        try:
            looked_at(job)
        finally:
            redis.xdel(key, entry)

    hammer(texts, use, examples=examples // 8)


@depths
@pytest.mark.leaves_keys
def test_fuzzed_board_entries(job: CollabJob, redis: Redis, examples: int) -> None:
    key = session_key(job.id, "board")

    def use(given: tuple[str, str]) -> None:
        redis.hset(key, given[0].encode(errors="replace"), given[1].encode(errors="replace"))
        try:
            looked_at(job)
        finally:
            redis.delete(key)

    hammer(st.tuples(TEXTS, TEXTS | as_json(JSON)), use, examples=examples // 4)


@depths
def test_fuzzed_worker_announcements(redis: Redis, examples: int) -> None:
    entries = garbled(as_json(nearly({"at": 1, "agents": ["a"]}))) | as_json(JSON)

    def use(text: str) -> None:
        redis.hset("symposia:workers", "w", text.encode(errors="replace"))
        WorkerPresence(redis).list_alive()
        WorkerPresence(redis).announce("me", ["a"])

    hammer(entries, use, examples=examples)


VERBS = [
    "sessions/open",
    "sessions/plan",
    "turns/begin",
    "turns/renew",
    "turns/commit",
    "turns/fail",
    "sessions/suspend",
    "sessions/resume",
    "sessions/stop",
    "sessions/cancel",
    "sessions/sweep",
    "sessions/view",
]


@depths
@pytest.mark.leaves_keys
@pytest.mark.parametrize("verb", VERBS)
def test_fuzzed_script_arguments(redis: Redis, verb: str, examples: int) -> None:
    """For any arguments a script answers or fails as a script, and the server keeps running."""
    script = load_script(verb)
    arguments = st.lists(
        TEXTS | as_json(JSON) | st.integers().map(str), min_size=len(script.args), max_size=20
    )

    def use(given: list[str]) -> None:
        keys = script.key_list(ID, "symposia:{x}:lock:floor" if "lock" in script.keys else None, [])
        try:
            answer = evaluate(redis, script, keys, given)
        except ScriptError:
            return
        assert isinstance(answer[0], str)
        json.dumps(answer)

    redis.hset(
        session_key(ID, "session"), mapping={"status": "active", "version": 0, "next": 2, "updated_ms": 1}
    )
    hammer(arguments, use, examples=examples)
    assert redis.ping()
    redis.delete(*redis.scan_iter("symposia:*"))
