"""Redis forgets everything under a worker that speaks: `symposia restore`, and the session completes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import REGISTRY, LiveWorker, result_of, until
from processes.terminal import Terminal
from sessions.archiving import archived, live
from symposia.archive.archive import Archive
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

# A machine that is loaded takes its time to start workers.
pytestmark = [pytest.mark.leaves_keys, pytest.mark.timeout(180), pytest.mark.long]

TURNS = 5
#: The turn that is being spoken when Redis forgets.
LOST = 3


@pytest.fixture
def settings(
    redis_url: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    (tmp_path / "agents.toml").write_text(REGISTRY)
    chosen = {
        "redis_url": redis_url,
        "database_url": database_url,
        "archive": True,
        "archive_interval_s": 0.1,
        "agents_file": tmp_path / "agents.toml",
        "data_dir": tmp_path,
        "redispatch_after_s": 1,
        "sweep_interval_s": 0.1,
    }
    for name, value in chosen.items():
        monkeypatch.setenv(f"SYMPOSIA_{name.upper()}", str(value))
    return chosen


@pytest.fixture
def worker(settings: dict[str, Any], tmp_path: Path) -> Iterator[LiveWorker]:
    worker = LiveWorker("w1", tmp_path, {}, app="symposia.workers", concurrency=2)
    yield worker.wait_ready()
    worker.close()


@pytest.fixture
def client(settings: dict[str, Any]) -> Iterator[Client]:
    client = Client(load_settings(**settings))
    yield client
    assert client.archive is not None
    client.archive.close()


def submitted(client: Client, folder: Path) -> CollabJob:
    """A session whose agents wait for the gate in turn LOST."""
    collab = Collab(
        title="A session",
        purpose="outlive Redis",
        mode="round_robin",
        participants=[Participant(participant_id=name) for name in ("ann", "bob")],
    )
    waits = {"gate": str(folder / "gate"), "gate_turn": LOST, "log": str(folder / "calls.jsonl")}
    agents = {"ann": "gated", "bob": "gated"}
    return client.submit(collab, agents=agents, stop=MaxTurns(TURNS), parameters=waits)


def spoken(streams: dict[str, list[Any]]) -> tuple[list[Any], list[Any]]:
    """Return the messages and turns; the journal may record a late writer at any time."""
    return streams["dialog"], streams["events"]


def test_restored_session_keeps_archived_messages(
    client: Client, worker: LiveWorker, archive: Archive, settings: dict[str, Any], tmp_path: Path
) -> None:
    job = submitted(client, tmp_path)
    redis = client._installation.sessions.workers._client
    calls = tmp_path / "calls.jsonl"
    until(lambda: calls.exists() and len(calls.read_text().splitlines()) == LOST, what="it speaks")
    until(
        lambda: archive.writer.progress([job.id]) and len(archived(archive, job.id)["dialog"]) == LOST - 1,
        what="what was said so far is archived",
    )
    until(
        lambda: spoken(archived(archive, job.id)) == spoken(live(redis, job.id)),
        what="and who has the floor now",
    )
    redis.flushall()
    before = archived(archive, job.id)

    terminal = Terminal(tmp_path, {})
    said = terminal.run("restore", job.id, "--json")
    assert said.code == 0, said
    (tmp_path / "gate").touch()
    result = result_of(client.get_job(job.id), timeout_s=50)
    terminal.close()

    assert (result.ok, result.turns) == (True, TURNS)
    after = live(redis, job.id)
    assert after["dialog"][: LOST - 1] == before["dialog"]
    assert [message["event"]["data"]["turn_number"] for _, message in after["dialog"]] == [1, 2, 3, 4, 5]
    until(lambda: spoken(archived(archive, job.id)) == spoken(after), what="all of it is archived")
    assert worker.process.poll() is None, worker.log()
