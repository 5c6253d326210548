"""An installation with a worker, session files that are tools, and clients of the SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from processes.terminal import PROGRAM, Terminal
from processes.terminal_with_worker import terminal_with_worker

REGISTRY = """
[agents.gated]
kind = "python"
callable = "stub_agents.live:gated"

[agents.doomed]
kind = "python"
callable = "stub_agents.live:gated"
queue = "doomed"

[agents.given]
kind = "python"
callable = "stub_agents.asking:given"
"""
POEM = """
title: A line above the door
purpose: Write {lines} lines about {topic}.
mode: round_robin
inputs:
  - {name: topic, help: What it is about.}
  - {name: lines, type: integer, default: 3, choices: [1, 3]}
participants:
  - {participant_id: ann, agent: echo}
stop: {max_rounds: 1}
"""
ASKS = """
title: The old room
purpose: Ask before anything is deleted.
mode: round_robin
participants:
  - {participant_id: cleaner, agent: given}
  - {participant_id: ben, kind: human, agent: human}
parameters: {question: May I delete it?, choices: ["yes", "no"]}
stop: {max_turns: 1}
"""
GATED = """
title: Behind the gate
purpose: Speak when the gate opens.
mode: round_robin
inputs: [{name: gate}]
participants: [{participant_id: ann, agent: gated}]
parameters: {gate: "{gate}"}
stop: {max_rounds: 1}
"""

KILLED = """
title: Doomed
purpose: Speak when the gate opens.
mode: round_robin
inputs: [{name: gate}, {name: log}]
participants: [{participant_id: ann, agent: doomed}]
parameters: {gate: "{gate}", log: "{log}"}
stop: {max_rounds: 1}
"""

ConnectStdio = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal with a Redis, a worker, and session files."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "registry.toml").write_text(REGISTRY)
    files = {"poem": POEM, "old room": ASKS, "gated": GATED, "killed": KILLED}
    for number, text in enumerate(files.values()):
        (folder / f"{number}.yaml").write_text(text)
    settings = {
        "data_dir": str(folder / "data"),
        "agents_file": str(folder / "registry.toml"),
        "jobs": json.dumps({name: str(folder / f"{number}.yaml") for number, name in enumerate(files)}),
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
        "worker_processes": "1",
    }
    with terminal_with_worker(folder, settings) as terminal:
        yield terminal


@pytest.fixture
def connect(terminal: Terminal) -> ConnectStdio:
    """Return a function that starts `symposia mcp` with options, and connects a client."""

    def start(*options: str, **how: Any) -> Client:
        # The SDK passes no variables but these.
        started = StdioServerParameters(
            command=sys.executable,
            args=[str(PROGRAM), "mcp", *options],
            env=terminal.environment,
            cwd=terminal.folder,
        )
        return Client(started, **how)

    return start


@pytest.fixture
def create_token(terminal: Terminal) -> Callable[..., str]:
    """Return a function that creates a token for HTTP."""

    def create(name: str, *, tenant: str = "shop", scope: str = "submit,read,reply,control") -> str:
        said = terminal.call("token", "create", "--name", name, "--tenant", tenant, "--scope", scope)
        assert said.code == 0, said
        return said.out.strip()

    return create


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file that lets the gated session end."""
    return tmp_path / "gate"
