"""Typed results: the program of docs/results.md, and the reason of a session without a valid one."""

from __future__ import annotations

import pytest

from documents.matching import assert_shown
from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/results.md")
PROGRAM = PAGE.take("python", "class Report")
FAILED = PAGE.take("text", "must be valid under the JSON schema")
AGENTS = """\
[agents.local]
kind = "python"
callable = "stub_agents.typed:reporter"

[agents.ada]
kind = "scripted"
replies = ['{"title": 7}']
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"agents.toml": AGENTS}


@pytest.mark.long
def test_program_prints_the_report(terminal: Terminal) -> None:
    assert run_program(terminal, PROGRAM) == "Lamps ['too dim']\n"


@pytest.mark.long
def test_invalid_output_is_the_reason(terminal: Terminal) -> None:
    report, _ = PROGRAM.split("\n\n\njob = submit(")
    said = run_program(
        terminal,
        report,
        """
        people = [{"participant_id": "ada"}]
        collab = {"title": "Lamps", "purpose": "Look at them.", "mode": "round_robin", "participants": people}
        result = submit(collab, output=Report, stop={"max_turns": 1}).result(timeout=40)
        print(f"{result.reason} ({result.detail})")
        """,
    )
    assert_shown(FAILED, said)
