"""An evaluation whose worker and whose command are killed reports each case once, and doubles no session."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker, until
from processes.terminal import Terminal
from scaling import patient
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.protocol.collab import CollabStatus

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]

CASES = 60
NAMES = [f"case {number}" for number in range(CASES)]


@pytest.fixture
def terminal(tmp_path: Path, agents_settings: dict[str, str]) -> Iterator[Terminal]:
    """A terminal with a Redis, and leases that end soon after the death of a worker."""
    with EmbeddedServer(tmp_path / "server", durable=False, bound=True) as server:
        terminal = Terminal(tmp_path, {**agents_settings, "lease_s": "2", "redis_url": server.url})
        yield terminal
        terminal.close()


@pytest.fixture
def workers(terminal: Terminal) -> Iterator[list[LiveWorker]]:
    started = [_start(terminal, name) for name in ("w1", "w2")]
    for worker in started:
        worker.wait_ready()
    yield started
    for worker in started:
        worker.close()


def _start(terminal: Terminal, name: str) -> LiveWorker:
    return LiveWorker(name, terminal.folder, terminal.environment, app="symposia.workers", concurrency=4)


def test_60_cases_survive_a_killed_worker_and_a_killed_command(terminal, workers, tmp_path):
    document = {
        "name": "many",
        "session": {
            "title": "A sign",
            "purpose": "Write a sign.",
            "mode": "pair",
            "participants": [{"participant_id": "writer"}, {"participant_id": "editor"}],
            "agents": {
                "writer": "slow",
                "editor": {"agent": "echo", "parameters": {"replies": ["APPROVED: ok"]}},
            },
        },
        "answer_by": "writer",
        "cases": [{"name": name, "message": f"About {name}."} for name in NAMES],
        "scorers": [{"contains": "door"}, {"judge": "judge"}],
    }
    (tmp_path / "cases.json").write_text(json.dumps(document))
    settings = load_settings(redis_url=terminal.settings["redis_url"], data_dir=tmp_path / "data")
    with Client(settings) as client:

        def ended() -> int:
            return sum(job.status() is CollabStatus.COMPLETED for job in client.each_job())

        running = terminal.start("eval", "cases.json")
        until(lambda: ended() >= 10, what="some sessions have ended")
        workers[0].kill()
        running.process.kill()
        running.process.wait(patient(10))
        assert 0 < len(list(client.each_job())) < 2 * CASES, "killed in the middle"
        again = terminal.start("eval", "cases.json", "--json").ended(timeout_s=120)

        assert again.code == 0, again.err
        jobs = list(client.each_job())
        titles = Counter(job.collab().title for job in jobs)
        runs = json.loads(again.out)["runs"]
        assert [it["case"] for it in runs] == NAMES
        assert {it["score"] for it in runs} == {0.75}
        assert titles == Counter(
            [*(f"{it} / base #1: A sign" for it in NAMES), *(f"judge: {it} / base #1" for it in NAMES)]
        )
        assert {it["session"] for it in runs} <= {job.id for job in jobs}
        said = [[message.speaker for message in client.get_job(it["session"]).messages()] for it in runs]
        assert said == [[None, "writer", "editor"]] * CASES
        assert "of them run before" in again.err


def test_ctrl_c_ends_the_command_and_the_same_command_continues(terminal, workers, tmp_path):
    document = {
        "name": "interrupted",
        "session": {
            "title": "A sign",
            "purpose": "Write a sign.",
            "mode": "round_robin",
            "participants": [{"participant_id": "writer"}],
            "agents": {"writer": "slow"},
            "stop": {"max_turns": 4},
        },
        "cases": [{"message": name} for name in NAMES],
        "scorers": [{"contains": "door"}],
    }
    (tmp_path / "cases.json").write_text(json.dumps(document))
    said = terminal.start("eval", "cases.json").until(" of 60 runs").interrupt().ended()
    assert said.code == 130
    assert "To continue: the same command again." in said.err
    again = terminal.start("eval", "cases.json", "--json").ended(timeout_s=120)
    assert (again.code, len(json.loads(again.out)["runs"])) == (0, CASES)
    assert "of them run before" in again.err
