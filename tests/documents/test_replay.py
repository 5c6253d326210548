"""Replay: the program of docs/replay.md, and the line of a changed prompt."""

from __future__ import annotations

import pytest

from documents.matching import assert_shown
from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/replay.md")
PROGRAM = PAGE.take("python", "client.replay(")
DIFFERS = PAGE.take("text", "differs from the record")
AGENTS = """\
[models.house]
model = "house"
base_url = "{url}"

[agents.poet]
kind = "llm"
model = "house"
instructions = "You write.\\nBe brief."
"""
SESSION = """\
title: A line
purpose: Write a line.
mode: round_robin
participants:
  - {participant_id: cyd, agent: echo}
  - {participant_id: dan, agent: echo}
  - {participant_id: ann, agent: poet}
stop: {max_rounds: 1}
"""


@pytest.fixture(scope="module")
def files(model: StubModel) -> dict[str, str]:
    return {"agents.toml": AGENTS.format(url=model.url), "line.yaml": SESSION}


@pytest.mark.long
def test_program_replays_its_session(terminal: Terminal) -> None:
    said = run_program(terminal, PROGRAM)
    assert said == "4 turns, 0 requests answered from the record\nTrue\n"


@pytest.mark.long
def test_changed_prompt_is_shown(terminal: Terminal, model: StubModel) -> None:
    model.answers(completion("A line."))
    session = terminal.call("run", "--record", "line.yaml", "--json").json()["collab"]["collab_id"]
    agents = terminal.folder / "agents.toml"
    agents.write_text(agents.read_text().replace("Be brief.", "Be polite."))
    said = terminal.call("replay", session)
    assert said.code == 1
    assert_shown(DIFFERS, said.err)
