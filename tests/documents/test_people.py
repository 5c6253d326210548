"""People and remote systems: the programs and tables of docs/people.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal
from servers.remote_system import SECRET

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/people.md")
SUBMIT = PAGE.take("python", 'title="The autumn letter"')
REPLY = PAGE.take("python", "for question in job.pending()")
WAIT = PAGE.take("python", "LocalClient(")
DEADLINE = PAGE.take("python", 'agents = {"writer": "local"')
CAREFUL = PAGE.take("python", "def careful")
APPROVERS = PAGE.take("python", 'approvers=["ann"]')
EDITOR = PAGE.take("toml", "[agents.editor]")
REMOTE = PAGE.take("toml", "[webhooks]")
PEOPLE = PAGE.take("toml", "[people.ann]")

AGENTS = """
[agents.local]
kind = "scripted"
replies = ["Dear readers."]

[agents.ada]
kind = "python"
callable = "my_agents:careful"
"""


def test_program_answers_questions_without_polling(capsys: pytest.CaptureFixture[str]) -> None:
    run_here(WAIT)
    assert capsys.readouterr().out == "approved\n"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"agents.toml": REMOTE + EDITOR + PEOPLE + AGENTS, "my_agents.py": CAREFUL}


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return {"PARTNER_SECRET": SECRET}


@pytest.mark.long
def test_person_replies_to_the_session(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        SUBMIT,
        "job.wait_for_question(timeout=40)",
        REPLY,
        "print([it.content for it in job.dialog().messages[:2]])",
    )
    question, messages = said.splitlines()
    assert question.startswith("('editor',)")
    assert messages == "['Dear readers.', 'Shorter, please.']"


@pytest.mark.long
def test_agent_asks_a_person(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        """
        import symposia

        collab = {
            "title": "A letter",
            "purpose": "Delete the draft.",
            "mode": "round_robin",
            "participants": [{"participant_id": "ada"}, {"participant_id": "editor", "kind": "human"}],
        }
        """,
        APPROVERS,
        """
        question = job.wait_for_question(timeout=40)
        print(question.asked, question.question.text, question.question.choices)
        job.reply("editor", "yes")
        job.wait_for_question(timeout=40)  # the next one
        print([it.content for it in job.dialog().messages])
        job.cancel("enough")
        """,
    )
    assert said.splitlines() == [
        "('editor',) May I delete the draft? ('yes', 'no')",
        "['May I delete the draft?', 'yes', 'deleted']",
    ]


@pytest.mark.long
def test_deadlines_of_people_and_of_a_remote_system(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        """
        from symposia import submit

        people = [{"participant_id": "writer"}, {"participant_id": "editor", "kind": "human"}]
        letter = {"title": "A", "purpose": "B", "mode": "round_robin", "participants": people}
        partner = {**letter, "participants": [{"participant_id": "partner"}]}
        """,
        DEADLINE,
        """
        from datetime import datetime, timezone

        for job in (submit(letter, agents=agents), submit(letter, agents={"writer": "local"}), submit(partner)):
            question = job.wait_for_question(timeout=40)
            hours = (question.until - datetime.now(timezone.utc)).total_seconds() / 3600
            print(question.asked, round(hours))
            job.cancel("enough")
        """,
    )
    assert said.splitlines() == ["('editor',) 1", "('editor',) 24", "('partner',) 24"]
