"""Fuzzed hashes of a session are read or reported in one line by every reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from redis import Redis

from documents.hammer import JSON, TEXTS, as_json, depths, garbled, hammer, nearly
from sessions.inline_installation import InlineInstallation
from symposia.jobs.collab import CollabJob
from symposia.models.errors import SymposiaError
from symposia.state.redis.keys import PREFIX, session_key
from symposia.state.redis.scripts import view_fields
from symposia.tasks.sessions.sweep import QueueView, sweep_session

pytestmark = pytest.mark.leaves_keys

REGISTRY = """
[agents.ann]
kind = "scripted"
replies = ["yes"]
at_end = "repeat"
"""
LOOKS: list[Callable[[CollabJob], object]] = [
    lambda job: job.state().records,
    lambda job: job.state().status,
    lambda job: job.state().usage,
    lambda job: job.state().dialog_status,
    lambda job: job.state().deadline_ms,
    lambda job: job.turn_state(),
    lambda job: job.pending(),
    lambda job: job.graph("text"),
    lambda job: job.instruct("ann", "shorter"),
    lambda job: job.reply("zoe", "this one"),
    lambda job: job.suspend(),
    lambda job: job.resume(),
]


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY)
    yield installation
    installation.close()


@pytest.fixture(params=["planned", "parked"])
def job(request: pytest.FixtureRequest, installation: InlineInstallation) -> CollabJob:
    """A session whose first turn is about to be spoken, or whose turn waits for a person."""
    job = installation.submit("round_robin", {"ann": "ann"}, people=["zoe"], stop={"max_rounds": 2})
    installation.deliver()
    if request.param == "parked":
        installation.work()
        assert job.pending()
    return job


def used(installation: InlineInstallation, job: CollabJob) -> None:
    """Everybody has a go at it; what one of them refuses does not spare the others."""
    for look in LOOKS:
        with suppress(SymposiaError):
            look(job)
    with suppress(SymposiaError):
        sweep_session(installation.runtime, job.id, QueueView.now(installation.runtime))
    installation.queue.send_advance(job.id, sent_ms=0)
    for _ in range(3):
        if installation.queue.waiting:
            with suppress(SymposiaError):
                installation.deliver()
    installation.queue.waiting.clear()


def kept(redis: Redis, session_id: str) -> Callable[[], None]:
    """Brings a session back to what it is now."""
    raw = redis.from_url(redis.url)  # type: ignore[attr-defined]
    pattern = f"{PREFIX}:{{{session_id}}}:*"
    dumps = {key: raw.dump(key) for key in raw.scan_iter(pattern)}

    def restore() -> None:
        raw.delete(*raw.scan_iter(pattern))
        for key, dump in dumps.items():
            raw.restore(key, 0, dump)

    return restore


def spoilt(
    installation: InlineInstallation, job: CollabJob, key: str, values: st.SearchStrategy[Any], examples: int
) -> None:
    redis = installation.runtime.store.client
    restore = kept(redis, job.id)

    def use(given: tuple[str, str]) -> None:
        redis.hset(key, *(part.encode(errors="replace") for part in given))
        try:
            used(installation, job)
        finally:
            restore()

    hammer(values, use, examples=examples)


@depths
def test_fuzzed_session_fields(installation: InlineInstallation, job: CollabJob, examples: int) -> None:
    names = st.sampled_from([*view_fields(), "collab", "spec", "posts", "reserved_tokens", "next_spec"])
    texts = (
        TEXTS | as_json(JSON) | as_json(nearly({"cursor": 1, "queue": [], "silent": ["ann"], "rounds": 3}))
    )
    spoilt(installation, job, session_key(job.id, "session"), st.tuples(names, texts), examples // 4)


@depths
def test_fuzzed_turn_records(installation: InlineInstallation, job: CollabJob, examples: int) -> None:
    key = session_key(job.id, "turns")
    there = installation.runtime.store.client.hgetall(key)
    parts = [
        st.tuples(st.just(name), garbled(as_json(nearly(json.loads(text))))) for name, text in there.items()
    ]
    others = st.tuples(TEXTS | st.sampled_from(["2", "2:wait", "1:held"]), TEXTS | as_json(JSON))
    spoilt(installation, job, key, st.one_of(*parts, others), examples // 4)
