"""`symposia run` with real processes: it starts what is missing and stops it again."""

from __future__ import annotations

import json
import re
import threading

import pytest

from live import REGISTRY, mood
from processes.gone import command_of
from processes.terminal import Terminal
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import WORKERS

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)

MISSING = "No worker is running; starting one for this run.\n"


def test_run_starts_and_stops_server_and_worker(bare: Terminal, pair_file):
    said = bare.run("run", pair_file, as_installed=True)
    assert (said.code, said.err) == (0, MISSING)
    # The agents say the same.
    lines = [line for line in said.out.splitlines() if "brings nothing new" not in line]
    assert lines[0].startswith("A line above the door  pair  ")
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["1", "ann"],
        ["2", "bob"],
        ["3", "ann"],
        ["4", "bob"],
    ]
    assert "completed: max_rounds" in lines[5]
    bare.wait_until_nothing_runs()


@pytest.mark.long
def test_run_reports_a_wait_for_a_killed_worker(terminal: Terminal, pair_file):
    """It counts as running for 30 s after its last announcement."""
    with connect(terminal.settings["redis_url"]) as client:
        WorkerPresence(client).announce("w1@killed", ["echo"])
        killed = json.loads(client.hget(WORKERS, "w1@killed"))
        client.hset(WORKERS, "w1@killed", json.dumps({**killed, "at": killed["at"] - 18_000}))
    said = terminal.run("run", pair_file)
    wait, *rest = said.err.splitlines(keepends=True)
    assert re.fullmatch(
        r"No worker has announced itself for \d+ seconds; after 30 seconds, one is started for this run.\n",
        wait,
    )
    assert (said.code, rest) == (0, [MISSING])
    terminal.wait_until_nothing_runs()


@pytest.mark.long
def test_same_id_and_content_is_the_same_session(bare: Terminal, pair_file):
    first = bare.run("run", pair_file, "--json").json()
    assert (first["reason"], first["turns"]) == ("max_rounds", 4)
    named = (bare.folder / "pair.yaml").read_text() + f"collab_id: {first['collab']['collab_id']}\n"
    assert bare.run("run", "-", "--json", stdin=named).json()["dialog"] == first["dialog"]
    other = bare.run("run", "-", stdin=named.replace("A line above", "A line below"))
    assert other.code == 2
    assert "already exists with different content" in other.err
    bare.wait_until_nothing_runs()


@pytest.mark.long
def test_failed_run_exits_with_1_and_its_reason(terminal: Terminal, pair_file):
    failing = (terminal.folder / "pair.yaml").read_text().replace("agent: echo", "agent: moody", 1)
    said = terminal.run(
        "run", "-", stdin=f"{failing}\nparameters: {{fails: 9}}\npolicy: {{attempts: 2, backoff_s: 0}}\n"
    )
    assert said.code == 1
    assert f"{mood(1)}; will retry" in said.out
    assert f"failed (ann: {mood(2)})" in said.out
    assert "Traceback" not in said.err


def test_agent_unknown_to_a_running_worker_is_reported(terminal: Terminal, pair_file):
    with connect(terminal.settings["redis_url"]) as client:
        WorkerPresence(client).announce("w1@elsewhere", ["coder"])
    said = terminal.call("run", pair_file)
    assert said.code == 2
    assert (
        "agents.ann: must be known to a running worker, but each of them has another agents file" in said.err
    )
    pair = terminal.folder / "pair.yaml"
    pair.write_text(pair.read_text().replace("agent: echo", "agent: nobody"))
    assert "agents.ann: must be a registered agent" in terminal.call("run", pair_file).err


@pytest.mark.long
def test_agent_in_code_that_is_newer_than_a_worker_is_reported(terminal: Terminal, pair_file):
    with connect(terminal.settings["redis_url"]) as client:
        WorkerPresence(client).announce("w1@elsewhere", ["coder"])
    (terminal.folder / "registry.toml").write_text('modules = ["later"]\n')
    code = "import symposia\n\n@symposia.agent('newer')\ndef newer(turn):\n    return 'Yes.'\n"
    (terminal.folder / "later.py").write_text(code)
    pair = terminal.folder / "pair.yaml"
    pair.write_text(pair.read_text().replace("agent: echo", "agent: newer"))
    said = terminal.run("run", pair_file)
    assert "agents.ann: must be known to a running worker" in said.err
    assert "earlier code; restart one" in said.err


def test_running_worker_is_used(busy: Terminal, pair_file):
    said = busy.call("run", pair_file)
    assert (said.code, said.err) == (0, "")


@pytest.mark.long
def test_run_of_skipped_turns_exits_with_1(busy: Terminal, pair_file, tmp_path):
    skipping = (tmp_path / "pair.yaml").read_text().replace("agent: echo", "agent: moody")
    said = busy.run(
        "run", "-", stdin=f"{skipping}\nparameters: {{fails: 9}}\npolicy: {{attempts: 1, then: skip}}\n"
    )
    assert said.code == 1
    assert "failed: all_turns_failed (2 of 2 turns failed or were skipped" in " ".join(said.out.split())


@pytest.mark.long
def test_ctrl_c_stops_processes_and_keeps_the_session(terminal: Terminal, gated_file):
    running = terminal.start("run", gated_file).until("ann")
    session = terminal.call("list", "--json").json()[0]["id"]
    terminal.wait_until_speaks(session, "bob")
    said = running.interrupt().until("Interrupted").interrupt().ended()
    assert said.code == 130
    assert (
        f"Session {session} continues when a worker is running. To follow it: symposia watch {session}"
        in said.err
    )
    terminal.wait_until_nothing_runs()
    assert terminal.call("show", session, "--json").json()["status"] == "active"


@pytest.mark.long
def test_a_worker_that_is_killed_is_started_again(terminal: Terminal, gated_file, gate):
    running = terminal.start("run", gated_file).until("ann")
    terminal.wait_until_speaks(terminal.call("list", "--json").json()[0]["id"], "bob")
    for process in terminal.processes():
        if "worker" in command_of(process):
            process.kill()
    running.until("restarting in 0.5 s")
    gate.touch()
    said = running.ended(timeout_s=50)
    assert said.code == 0
    assert "was lost; turn 2 is being taken over" in said.out
    terminal.wait_until_nothing_runs()
    with connect(terminal.settings["redis_url"]) as client:
        assert not WorkerPresence(client).list_alive()[1:]


@pytest.mark.long
def test_first_of_two_runs_leaves_the_server_running(bare: Terminal, pair_file, gated_file, gate):
    bare.settings["agents_file"] = str(bare.folder / "registry.toml")
    (bare.folder / "registry.toml").write_text(REGISTRY)
    first = bare.start("run", gated_file.replace("gated", "pair")).until("ann")
    second = bare.start("run", gated_file).until("ann")
    # The first one's worker may have the other's turn in hand, and ends with it.
    opening = threading.Timer(10, gate.touch)
    opening.start()
    assert first.ended(timeout_s=40).code == 0
    opening.cancel()
    gate.touch()
    said = second.ended(timeout_s=55)
    assert (said.code, "completed: max_rounds" in said.out) == (0, True), said
    bare.wait_until_nothing_runs()
