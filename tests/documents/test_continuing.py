"""Continue and fork: the program of docs/continuing.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/continuing.md")
PROGRAM = PAGE.take("python", "continue_with")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"agents.toml": '[agents.local]\nkind = "scripted"\nreplies = ["Lamp?", "Wick?"]\n'}


@pytest.mark.long
def test_program_continues_and_forks_a_session(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        PROGRAM,
        "for it in second.dialog().messages: print(it.speaker, it.content)",
    )
    dialog = ["ada Lamp?", "ben Lamp?", "ada Wick?", "ben Wick?"]
    assert said.splitlines() == ["None And a name for the dog?", *dialog]
