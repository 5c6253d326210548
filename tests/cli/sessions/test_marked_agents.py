"""Agents that are marked in code: `symposia run` and `symposia doctor`."""

from __future__ import annotations

import pytest

from processes.terminal import Terminal

pytestmark = pytest.mark.long

MODULE = 'import symposia\n\n@symposia.agent("ada")\ndef ada(turn):\n    return "hello"\n'
SESSION = """
title: A word
purpose: Say a word.
mode: round_robin
participants: [{participant_id: ada, agent: NAME}]
stop: {max_turns: 1}
"""


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
