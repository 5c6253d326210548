"""Modes: the programs and session files of docs/modes.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/modes.md")
SWARM = PAGE.take("python", 'mode="swarm"')
STOP = PAGE.take("python", "stop = ")
SHORT_STOP = PAGE.take("yaml", "stop: {max_rounds: 3, text: DONE}")
NESTED_STOP = PAGE.take("yaml", "any:")
HAIKU = PAGE.take("yaml", "title: A haiku")
POEM = PAGE.take("yaml", "inputs:")
POEMS = PAGE.take("python", "client.submit_many")

AGENTS = """\
[agents.local]
kind = "scripted"
replies = ["A poem.", "APPROVED: fine."]

[agents.lead]
kind = "scripted"
replies = ["Not yet.", "Done.", "DONE"]

[agents.ann]
kind = "scripted"
replies = ["All is done."]

[agents.bob]
kind = "scripted"
replies = ["Done."]
"""
#: The fields of a session file that the excerpts of the page leave out.
REST = """\
mode: round_robin
participants: [{participant_id: lead}]
"""
TITLE = "title: Stop\npurpose: Stop.\n"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {
        "agents.toml": AGENTS,
        "haiku.yaml": HAIKU,
        "poem.yaml": f"{POEM}{REST}stop: {{max_turns: 1}}\n",
        "short.yaml": TITLE + REST + SHORT_STOP,
        "nested.yaml": TITLE + REST + NESTED_STOP,
    }


@pytest.mark.long
def test_programs_submit_sessions(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        SWARM,
        """
        from symposia import Client

        client = Client()
        topics = ["lamps", "chairs"]
        """,
        STOP,
        """
        collab = {"title": "A", "purpose": "Stop.", "mode": "round_robin"}
        stopped = submit({**collab, "participants": [{"participant_id": "lead"}]}, stop=stop)
        print(stopped.result(timeout=40).reason)
        """,
        POEMS,
        """
        for it in [job, *jobs]:
            print(it.result(timeout=40).collab.purpose)
        """,
    )
    assert said.splitlines() == [
        "parse done ann All is done. None",
        "test done bob Done. None",
        "text_seen+max_turns",
        "Write a plain poem of 3 lines about doors.",
        "Write a plain poem of 3 lines about lamps.",
        "Write a plain poem of 3 lines about chairs.",
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "reason"),
    [("haiku", "approved"), ("short", "text_seen"), ("nested", "max_turns+text_seen")],
)
def test_session_files_run(terminal: Terminal, name: str, reason: str) -> None:
    said = terminal.call("run", f"{name}.yaml", "--json").json()
    assert said["reason"] == reason
