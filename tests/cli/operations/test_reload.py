"""`symposia up --reload`: changed code of agents counts after a restart of the workers, between turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from live import until
from processes.terminal import Running, Terminal
from servers.ports import keep_port

#: They start many processes one after the other.
pytestmark = [pytest.mark.timeout(180), pytest.mark.long]

MODULE = """
import time
from pathlib import Path
import symposia
from words import WORD

@symposia.agent("ada")
def ada(turn):
    Path("begun").touch()
    while not Path("gate").exists():
        time.sleep(0.02)
    return WORD
"""
SESSION = """
title: A word
purpose: Say a word.
mode: round_robin
participants: [{participant_id: ada, agent: ada}]
stop: {max_turns: 1}
"""


@pytest.fixture
def up(bare: Terminal) -> Running:
    folder = bare.folder
    write(folder, words='WORD = "one"')
    (folder / "my_agents.py").write_text(MODULE)
    (folder / "agents.toml").write_text('modules = ["my_agents"]\n')
    (folder / "session.yaml").write_text(SESSION)
    (folder / "gate").touch()
    keep_port(Path(bare.settings["data_dir"]))
    running = bare.start("up", "--no-flower", "--no-beat", "--no-local-model", "--reload")
    return running.until("up       | ready")


def write(folder: Path, *, words: str) -> None:
    (folder / "words.py").write_text(words)


def word_of(terminal: Terminal) -> str:
    shown = terminal.call("run", "session.yaml", "--json")
    assert shown.code == 0, shown
    return shown.json()["dialog"]["messages"][-1]["content"]


def test_changed_code_counts_after_the_turns_in_flight(bare: Terminal, up: Running):
    assert word_of(bare) == "one"
    (bare.folder / "gate").unlink()
    (bare.folder / "begun").unlink()
    session = bare.call("submit", "session.yaml").out.strip()
    until((bare.folder / "begun").exists, what="the turn runs")
    write(bare.folder, words='WORD = "two"')
    up.until("up       | words.py changed, reloading the workers after the turns in flight")
    (bare.folder / "gate").touch()
    until(lambda: '"content": "one"' in bare.call("show", session, "--json").out, what="the turn ends")
    until(lambda: up.out.count("ready.") == 2, what="the worker is there again")
    assert word_of(bare) == "two"
    assert up.out.count("reloading the workers") == 1
    assert "restarting in" not in up.out
    assert up.interrupt().ended().code == 0
    bare.wait_until_nothing_runs()


def test_broken_code_keeps_the_workers(bare: Terminal, up: Running):
    write(bare.folder, words="WORD = (")
    up.until("up       | words.py changed, not reloaded, workers keep the old code: ")
    assert "modules[0]: my_agents: cannot be imported: SyntaxError: '(' was never closed" in up.out
    assert word_of(bare) == "one"
    write(bare.folder, words='WORD = "three"')
    up.until("reloading the workers")
    until(lambda: up.out.count("ready.") == 2, what="the worker is there again")
    assert word_of(bare) == "three"
    assert up.interrupt().ended().code == 0
    bare.wait_until_nothing_runs()


def test_up_refuses_a_name_given_twice(bare: Terminal):
    (bare.folder / "my_agents.py").write_text('import symposia\nsymposia.agent("ada")(print)')
    (bare.folder / "agents.toml").write_text('modules = ["my_agents"]\n[agents.ada]\nkind = "human"\n')
    said = bare.call("up", "--no-flower", "--no-local-model")
    rule = "[agents.ada] must not be given twice: in agents.toml, and in module my_agents, line 2"
    assert (said.code, said.out, said.err) == (2, "", f"symposia: agents.toml: {rule}\n")
    bare.wait_until_nothing_runs()
