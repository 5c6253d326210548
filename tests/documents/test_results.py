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
[agents.reporter]
kind = "python"
callable = "stub_agents.typed:reporter"

[agents.ada]
kind = "scripted"
replies = ['{"title": 7}']
"""
#: Participants and agents that the page takes for granted: only the last turn must give the output.
PEOPLE = """
from symposia import MaxTurns

people = [{"participant_id": "ada"}, {"participant_id": "ben"}]
agents = {"ada": "echo", "ben": "reporter"}
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"agents.toml": AGENTS}


@pytest.mark.long
def test_program_prints_the_report(installation: Terminal) -> None:
    assert run_program(installation, PEOPLE, PROGRAM) == "Lamps ['too dim']\n"


@pytest.mark.long
def test_invalid_output_is_the_reason(installation: Terminal) -> None:
    (submitted,) = [it for it in PROGRAM.split("\n\n\n") if it.startswith("job = submit(")]
    said = run_program(
        installation,
        PROGRAM.removesuffix(submitted),
        """
        people = [{"participant_id": "ada"}]
        agents = {"ada": "ada"}
        """,
        submitted.partition("result = ")[0],
        """
        result = job.result(timeout=40)
        print(f"{result.reason} ({result.detail})")
        """,
    )
    assert_shown(FAILED, said)
