"""Sessions in one process: the programs of docs/local.md, in one namespace and in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/local.md")
FIRST, LETTER, MODEL, PERSON, MODULE, ON_WORKERS = PAGE.take_all("python")
PRINTED = PAGE.take("text", "ada: ")
AGENTS = PAGE.take("toml", "modules")
LETTER_FILE = """\
inputs: [{name: topic}]
title: A letter
purpose: Write about {topic}.
mode: round_robin
participants: [{participant_id: ada, agent: local}, {participant_id: ben, agent: echo}]
stop: {max_turns: 1}
"""


def test_first_program_and_session_file_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("letter.yaml").write_text(LETTER_FILE)
    names = run_here(FIRST, LETTER)
    assert capsys.readouterr().out == PRINTED
    assert names["write_letter"]("doors") == "The Lantern Room?"


@pytest.mark.long
@pytest.mark.real_models
def test_agent_of_pydantic_ai_is_a_participant(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubModel() as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        model.answers(completion("It squeaks."), completion("It is too heavy."))
        assert run_here(MODEL)["discuss"]() == "It is too heavy."


def test_person_answers_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    run_here(PERSON)
    assert capsys.readouterr().out == "So blue.\n"


def test_marked_agents_run_in_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    run_here(MODULE)
    assert capsys.readouterr().out == "AGREED.\n"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {"my_agents.py": MODULE, "agents.toml": AGENTS}


@pytest.mark.long
def test_marked_agents_run_on_workers(terminal: Terminal) -> None:
    assert run_program(terminal, ON_WORKERS, "print(on_workers())") == "AGREED.\n"
