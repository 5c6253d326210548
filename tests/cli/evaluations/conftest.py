"""A small evaluation, and a terminal with a worker that knows agents for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live import REGISTRY
from processes.terminal import Terminal
from processes.terminal_with_worker import terminal_with_worker

AGENTS = """
[agents.spender]
kind = "scripted"
replies = [{ say = "Close the door.", usage = { input_tokens = 5 } }]

[agents.slow]
kind = "scripted"
replies = [{ say = "Close the door.", delay_s = 0.3 }]

[agents.judge]
kind = "scripted"
replies = ['{"score": 0.5, "reason": "so so"}']
"""
CASES = """
name: signs
session:
  title: A sign
  purpose: Write a sign.
  mode: pair
  participants: [{participant_id: writer}, {participant_id: editor}]
  agents:
    writer: {agent: echo, parameters: {replies: ["Close the door."]}}
    editor: {agent: echo, parameters: {replies: ["APPROVED: fine."]}}
answer_by: writer
cases:
  - {name: door, message: A door., expect: door}
  - {name: lamp, message: A lamp., expect: lamp}
variants:
  plain: {}
  both: {agents: {writer: {agent: echo, parameters: {replies: ["Close the door under the lamp."]}}}}
scorers:
  - {contains: "{expect}"}
"""


def _settings(folder: Path) -> dict[str, str]:
    """Write the agents file of a terminal, and return its settings."""
    (folder / "registry.toml").write_text(REGISTRY + AGENTS)
    return {
        "data_dir": str(folder / "data"),
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
        "worker_processes": "1",
        "archive": "true",
        "archive_interval_s": "0.2",
        "agents_file": str(folder / "registry.toml"),
    }


@pytest.fixture
def agents_settings(tmp_path: Path) -> dict[str, str]:
    """Settings of a terminal in the folder of the test."""
    return _settings(tmp_path)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal with a Redis and a worker that all tests of a module share."""
    folder = tmp_path_factory.mktemp("busy")
    with terminal_with_worker(folder, _settings(folder)) as terminal:
        yield terminal


@pytest.fixture
def cases_file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.yaml"
    path.write_text(CASES)
    return path
