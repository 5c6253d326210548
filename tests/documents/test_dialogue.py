"""Alignment documents: the programs of docs/dialogue.md."""

from __future__ import annotations

import pytest

from documents.pages import ROOT, Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/dialogue.md")
DOCUMENT = PAGE.take("python", "parse(text)")
SESSION = PAGE.take("python", 'protocol="alignment"')


def test_document_is_read_and_written() -> None:
    text = (ROOT / "examples/decision.dialogue.md").read_text()
    names = run_here(DOCUMENT, text=text, answer="[TENSION T01: Speed]\n")
    (line,) = [it for it in DOCUMENT.splitlines() if it.startswith("parse_markers(")]
    assert eval(line, names)[0].label == "Speed"  # noqa: S307 - our own documentation


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    names = ("muffin", "scone")
    entries = [f'[agents.{it}]\nkind = "python"\ncallable = "stub_agents.alignment:expert"\n' for it in names]
    return {"agents.toml": "\n".join(entries)}


@pytest.mark.long
def test_session_converges(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        """
        collab = {
            "title": "Doors",
            "purpose": "Choose a door.",
            "mode": "round_robin",
            "participants": [{"participant_id": "muffin"}, {"participant_id": "scone"}],
        }
        agents = {"muffin": "muffin", "scone": "scone"}
        """,
        SESSION,
        "print(len(job.ledger().tensions), job.transcript().splitlines()[0])",
    )
    ended, counted = said.splitlines()
    assert f'print(result.reason, result.detail)  # "{ended}"' in SESSION
    assert counted == "2 # Doors"
