"""Agents that are marked in code: the program of the documentation in one process and on a worker, and `symposia run`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from live import LiveWorker
from processes.terminal import Terminal
from scaling import patient

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[4] / "docs/local.md"
BLOCK = re.compile(r"^```(python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
MODULE = 'import symposia\n\n@symposia.agent("ada")\ndef ada(turn):\n    return "hello"\n'
SESSION = """
title: A word
purpose: Say a word.
mode: round_robin
participants: [{participant_id: ada, agent: NAME}]
stop: {max_turns: 1}
"""


def run_python(terminal: Terminal, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=terminal.folder,
        env=terminal.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(60),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_agents_run_on_workers(terminal: Terminal):
    section = PAGE.read_text().partition("## The same agents on workers")[2]
    (_, module), (_, line), (_, program) = BLOCK.findall(section)
    (terminal.folder / "my_agents.py").write_text(module)
    assert run_python(terminal, "my_agents.py") == "AGREED.\n"

    (terminal.folder / "registry.toml").write_text(line)
    worker = LiveWorker(
        *("w", terminal.folder, terminal.environment),
        app="symposia.workers",
        concurrency=2,
        path=[terminal.folder],
    )
    try:
        worker.wait_ready()
        assert run_python(terminal, "-c", f"{program}\nprint(on_workers())") == "AGREED.\n"
    finally:
        worker.close()


def test_run_without_a_worker_knows_marked_agents(terminal: Terminal):
    (terminal.folder / "my_agents.py").write_text(MODULE)
    (terminal.folder / "registry.toml").write_text('modules = ["my_agents"]\n')
    file = terminal.folder / "session.yaml"
    file.write_text(SESSION.replace("NAME", "ada"))
    said = terminal.run("run", "session.yaml", "--json")
    assert said.json()["dialog"]["messages"][-1]["content"] == "hello", said
    file.write_text(SESSION.replace("NAME", "adda"))
    said = terminal.run("run", "session.yaml")
    assert said.code == 2
    assert "agents.ada: must be a registered agent, did you mean ada?" in said.err


def test_doctor_lists_marked_agents_and_names_broken_modules(terminal: Terminal):
    (terminal.folder / "our_agents.py").write_text(f"{MODULE}\nprint('loading')\n")
    (terminal.folder / "registry.toml").write_text('modules = ["our_agents", "no_such_module"]\n')
    findings = terminal.call("doctor", "--json").json()["findings"]
    texts = [it["text"] for it in findings if it["subject"] == "agents"]
    assert texts[0].startswith("ada, ")
    cause = "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"
    assert texts[1] == f"{terminal.folder / 'registry.toml'}: modules[1]: no_such_module: {cause}"
