"""Evaluations: the files and programs of docs/evaluations.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/evaluations.md")
CASES = PAGE.take("yaml", "# cases.yaml")
LETTERS = PAGE.take("yaml", "letter.yaml")
PROGRAM = PAGE.take("python", 'client.evaluate("cases.yaml"')
LOCAL = PAGE.take("python", "LocalClient")

AGENTS = """\
[agents.writer]
kind = "scripted"
replies = ["A lamp at the door."]

[agents.editor]
kind = "scripted"
replies = ["APPROVED: fine."]

[agents.critic]
kind = "scripted"
replies = ['{"score": 0.8, "reason": "polite"}']
"""
SIGN = """\
title: A sign
purpose: Write a sign.
mode: pair
participants: [{participant_id: writer}, {participant_id: editor}]
"""
LETTER = """\
inputs: [{name: topic}, {name: lines, type: integer, default: 3}]
title: A letter
purpose: Write {lines} lines about {topic}.
mode: round_robin
participants: [{participant_id: writer}]
stop: {max_turns: 1}
"""


def test_local_client_compares_prompts() -> None:
    result = run_here(LOCAL)["result"]
    assert {it.variant: it.score for it in result.summaries} == {"old": 0, "new": 1}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {
        "agents.toml": AGENTS,
        "sign.yaml": SIGN,
        "letter.yaml": LETTER,
        "cases.yaml": CASES,
        "letters.yaml": LETTERS,
    }


@pytest.mark.long
def test_program_evaluates_the_cases(terminal: Terminal) -> None:
    said = run_program(terminal, PROGRAM).splitlines()
    assert [it.split()[:2] for it in said[-3:]] == [["now", "0.9"], ["bold", "0.9"], ["alone", "0.9"]]


@pytest.mark.long
def test_cases_give_inputs(terminal: Terminal) -> None:
    result = terminal.call("eval", "letters.yaml", "--json").json()
    assert [(it["case"], it["answer"], it["score"]) for it in result["runs"]] == [
        ("doors", "A lamp at the door.", 0.8),
        ("short", "A lamp at the door.", 0.8),
    ]
