"""A worker follows changes of its agents file between turns, without a restart, in every pool."""

from __future__ import annotations

from pathlib import Path

import pytest

from live import LiveWorker, result_of, until
from symposia import Client, CollabJob
from symposia.config.settings import load_settings

pytestmark = pytest.mark.long

ADA = '[agents.ada]\nkind = "scripted"\nreplies = ["{word}"]\n'
SLOW = '[agents.slow]\nkind = "python"\ncallable = "slow_agent:slow"\n'
SLOW_CODE = """
import time
from pathlib import Path

def slow(turn):
    Path("begun").touch()
    while not Path("gate").exists():
        time.sleep(0.02)
    return "slow"
"""
MODULE = 'import symposia\n\n@symposia.agent("ben")\ndef ben(turn):\n    return "from code"\n'


@pytest.fixture(params=["threads", "processes"])
def worker(request, tmp_path, redis_url):
    (tmp_path / "agents.toml").write_text(ADA.format(word="one") + SLOW)
    (tmp_path / "slow_agent.py").write_text(SLOW_CODE)
    (tmp_path / "late_team.py").write_text(MODULE)
    settings = {
        "SYMPOSIA_REDIS_URL": redis_url,
        "SYMPOSIA_AGENTS_FILE": str(tmp_path / "agents.toml"),
        "SYMPOSIA_DATA_DIR": str(tmp_path),
        "SYMPOSIA_SWEEP_INTERVAL_S": "0.2",
    }
    pool = [f"--pool={request.param}"]
    live = LiveWorker(
        "w", tmp_path, settings, app="symposia.workers", concurrency=2, options=pool, path=[tmp_path]
    )
    live.wait_ready()
    yield live
    live.close()


@pytest.fixture
def client(redis_url, tmp_path):
    with Client(load_settings(redis_url=redis_url, data_dir=tmp_path, archive=False)) as client:
        yield client


def submit(client: Client, agent: str) -> CollabJob:
    collab = {
        "title": "A word",
        "purpose": "Say a word.",
        "mode": "round_robin",
        "participants": [{"participant_id": agent, "kind": "agent"}],
    }
    return client.submit(collab, agents={agent: agent}, stop={"max_turns": 1})


def say(client: Client, agent: str) -> str:
    return text_of(submit(client, agent))


def text_of(job: CollabJob) -> str:
    return result_of(job).dialog.messages[-1].content


def test_added_changed_and_removed_agents_count(worker: LiveWorker, client: Client, tmp_path: Path):
    file = tmp_path / "agents.toml"
    until(lambda: "ada" in client.known_agents(), what="the worker has announced its agents")
    assert [say(client, "ada") for _ in range(3)] == ["one"] * 3

    file.write_text('modules = ["late_team"]\n' + ADA.format(word="two"))
    until(lambda: "ben" in client.known_agents(), what="the new agent is announced")
    # New agents are announced once each process of the pool has to look at the file before its next turn.
    assert [say(client, name) for name in ("ben", "ben", "ada", "ada")] == [
        *("from code", "from code"),
        *("two", "two"),
    ]

    file.write_text('modules = ["late_team"]\n[agents.ada]\nkind = "comand"')
    until(lambda: "agents file refused" in worker.log(), what="the wrong file is reported")
    assert say(client, "ada") == "two"

    file.write_text(ADA.format(word="three"))
    until(lambda: "ben" not in client.known_agents(), what="the removed agent is not announced")
    until(lambda: say(client, "ada") == "three", what="the changed agent counts")
    log = worker.log()
    assert log.count("agents file refused, keeping the agents as they were") == 1
    assert log.count("agents file read again: changed ada, added ben, removed slow") == 1
    assert log.count("agents file read again: changed ada, removed ben") == 1


def test_turn_in_flight_keeps_its_agent(worker: LiveWorker, client: Client, tmp_path: Path):
    until(lambda: "slow" in client.known_agents(), what="the worker has announced its agents")
    job = submit(client, "slow")
    until((tmp_path / "begun").exists, what="the turn runs")
    (tmp_path / "agents.toml").write_text(ADA.format(word="two"))
    until(lambda: "agents file read again: changed ada, removed slow" in worker.log(), what="it is removed")
    (tmp_path / "gate").touch()
    assert text_of(job) == "slow"
    # Each process of a pool looks at the file at most once a second.
    until(lambda: say(client, "ada") == "two", what="the changed agent counts")
