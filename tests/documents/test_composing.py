"""Sub-sessions: the tables and programs of docs/composing.md on a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.matching import assert_shown
from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion
from symposia.client.building.runtime import registry_source
from symposia.config.settings import load_settings
from symposia.models.errors import RegistryError

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/composing.md")
PROGRAM = PAGE.take("python", "PANEL = {")
CALLER = PAGE.take("python", "def edit")
PANEL = PAGE.take("toml", "[agents.panel]")
EDITOR = PAGE.take("toml", "[agents.editor]")
PARTICIPANTS = PAGE.take("yaml", "session: panel.yaml")
CIRCLE = PAGE.take("text", "must not contain itself")

PANEL_FILE = """\
title: A panel
purpose: Find what a reader would not understand.
mode: round_robin
participants: [{participant_id: ann, agent: echo}]
stop: {max_turns: 1}
agents: {ann: {agent: echo, parameters: {replies: ["What is a parser?"]}}}
"""
#: The agents that the page takes for granted.
AGENTS = """
[agents.local]
kind = "scripted"
replies = ["The parser is faster."]

[agents.caller]
kind = "python"
callable = "callers:edit"

[models.house]
model = "house"
base_url = "{url}"
"""
SESSION = """\
title: Notes
purpose: Write the release notes.
mode: round_robin
stop: {max_rounds: 1}
"""
#: A session of a writer and one more agent.
WITH_WRITER = """
from symposia import submit

def notes(agent):
    people = [{"participant_id": "writer"}, {"participant_id": "other"}]
    collab = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
    job = submit(collab, agents={"writer": "local", "other": agent}, stop={"max_rounds": 1})
    result = job.result(timeout=40)
    return [it.content for it in result.dialog.messages] + [len(job.children())]
"""


def test_session_that_contains_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agents.toml").write_text(PANEL + PANEL.replace("panel", "jury"))
    Path("panel.yaml").write_text(f"{SESSION}participants: [{{participant_id: jury}}]\n")
    Path("jury.yaml").write_text(f"{SESSION}participants: [{{participant_id: panel}}]\n")
    with pytest.raises(RegistryError) as refused:
        registry_source(load_settings(agents_file=Path("agents.toml"), data_dir=tmp_path))
    assert_shown(CIRCLE, str(refused.value))


@pytest.fixture(scope="module")
def files(model: StubModel) -> dict[str, str]:
    return {
        "agents.toml": PANEL + EDITOR + AGENTS.format(url=model.url),
        "panel.yaml": PANEL_FILE,
        "callers.py": CALLER,
        "notes.yaml": SESSION + PARTICIPANTS,
    }


@pytest.mark.long
def test_session_of_the_program_is_a_participant(terminal: Terminal) -> None:
    assert run_program(terminal, PROGRAM).splitlines() == ["ok", "['completed']"]


@pytest.mark.long
def test_session_of_a_file_is_a_participant(terminal: Terminal) -> None:
    said = terminal.call("run", "notes.yaml", "--json").json()
    texts = [it["content"] for it in said["dialog"]["messages"]]
    assert texts == ["The parser is faster.", "What is a parser?"]


@pytest.mark.long
def test_agents_call_a_session(terminal: Terminal, model: StubModel) -> None:
    model.answers(
        completion(tool=("panel", {"question": "Look at it."})), completion("I explain the parser.")
    )
    said = run_program(
        terminal,
        WITH_WRITER,
        """
        for agent in ("panel", "caller", "editor"):
            print(*notes(agent), sep=" | ")
        """,
    )
    assert said.splitlines() == [
        "The parser is faster. | What is a parser? | 1",
        "The parser is faster. | The panel says: What is a parser? | 1",
        "The parser is faster. | I explain the parser. | 1",
    ]
