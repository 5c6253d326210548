"""Corrupt keys of a session are reported in one line with the part and the reason."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation
from symposia.models.errors import CorruptSession
from symposia.state.redis.keys import DUE, session_key
from symposia.tasks.planning.advance import advance
from symposia.tasks.sessions.sweep import sweep

pytestmark = pytest.mark.leaves_keys

SAY = '[agents.say]\nkind = "scripted"\nreplies = ["a word"]\n'


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    installation = InlineInstallation(tmp_path, redis_url, SAY)
    yield installation
    installation.close()


def read_all_of_it(installation: InlineInstallation, session_id: str) -> None:
    """Read the session as clients, planners and workers do."""
    job = installation.client.get_job(session_id)
    assert job.status()
    assert job.usage() is not None
    assert job.state().usage.requests == 0
    assert job.state().records is not None
    advance(installation.runtime, session_id, parent=session_id)
    installation.work()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("status", "odd", "session .*: status: must be a status of a collab .got 'odd'."),
        ("version", "many", "session .*: version: must be a whole number .got 'many'."),
        ("edition", "x", "session .*: edition: must be a whole number .got 'x'."),
        ("planner", "[", "planner .*: Invalid JSON: "),
        ("planner", "[]", "planner .*: must be "),
        ("planner", '{"cursor": "x"}', "planner or stop .*: cursor: must be a valid integer"),
        ("stop", "no", "stop .*: Invalid JSON: "),
        ("collab", "{}", "collab .*: "),
        ("spec", "[]", "spec .*: must be "),
        ("input_tokens", "-1", "session .*: input_tokens: must be greater than or equal to 0"),
    ],
)
def test_corrupt_session_field_is_named_with_its_rule(
    installation: InlineInstallation, name: str, value: str, told: str
) -> None:
    job = installation.submit("round_robin", {"ann": "say"}, stop={"max_turns": 2})
    installation.runtime.store.client.hset(session_key(job.id, "session"), name, value)
    with pytest.raises(CorruptSession, match=told) as error:
        read_all_of_it(installation, job.id)
    assert job.id in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("1", "{", "turn 1 .*: Invalid JSON: "),
        ("1", "{}", "turn 1 .*: participant: is required"),
        ("1", '{"status": "gone"}', "turn 1 .*: participant: is required"),
        ("one", "{}", "turns .*: 'one' is not a turn number"),
        ("01", "{}", "turns .*: '01' is not a turn number"),
        ("1:plan", "7", "the plan of turn 1 .*: must be "),
        (
            "1:plan",
            '{"participant": "zoe"}',
            "the plan of turn 1 .*: participant: must be .*, the turn's participant, and in the roster",
        ),
    ],
)
def test_corrupt_turn_record_is_named_with_its_rule(
    installation: InlineInstallation, name: str, value: str, told: str
) -> None:
    job = installation.submit("round_robin", {"ann": "say"}, stop={"max_turns": 2})
    installation.deliver()
    assert list(job.state().records) == [1]
    installation.runtime.store.client.hset(session_key(job.id, "turns"), name, value)
    with pytest.raises(CorruptSession, match=told):
        read_all_of_it(installation, job.id)


def test_sweep_logs_a_corrupt_session_and_continues(
    installation: InlineInstallation, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = (installation.submit("round_robin", {"ann": "say"}, stop={"max_turns": 1}) for _ in range(2))
    client = installation.runtime.store.client
    client.hset(session_key(bad.id, "session"), "status", "odd")
    client.hset(session_key(bad.id, "turns"), "1", "{")
    installation.queue.waiting.clear()
    client.zadd(DUE, {bad.id: 0, good.id: 1})
    with caplog.at_level(logging.ERROR, "symposia"):
        sweep(installation.runtime)
    (told,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert told.getMessage().startswith(f"sweeping session {bad.id} failed: ")
    assert told.exc_info is None
