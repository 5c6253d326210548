"""The README: its first program, and the agents file, used by a session.

`tests/cli/test_readme.py` runs the programs for workers.
"""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_here, run_program
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("README.md")
FIRST = PAGE.take("python", "run_local_sync")
AGENTS = PAGE.take("toml", "[models.fast]")
ENDPOINT = "https://models.example.com/v1"


def test_first_program_prints_a_dialog(capsys: pytest.CaptureFixture[str]) -> None:
    run_here(FIRST)
    said = ["ada: The Lantern Room?", "ben: It has a lamp in every window.", "ada: AGREED."]
    assert capsys.readouterr().out.splitlines() == said


@pytest.fixture(scope="module")
def files(model: StubModel) -> dict[str, str]:
    assert ENDPOINT in AGENTS
    return {
        "agents.toml": AGENTS.replace(ENDPOINT, model.url),
        "my_agents.py": "def lint(turn):\n    return 'lint: clean'\n",
    }


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return {"MODEL_API_KEY": "k"}


@pytest.mark.long
def test_agents_file_defines_three_agents(terminal: Terminal, model: StubModel) -> None:
    model.answers(completion("The loop never ends."))
    said = run_program(
        terminal,
        """
        from symposia import submit

        people = [{"participant_id": it} for it in ("chair", "reviewer", "linter")]
        collab = {"title": "A", "purpose": "B", "mode": "orchestrated", "participants": people}
        job = submit(
            collab,
            agents={it["participant_id"]: it["participant_id"] for it in people},
            options={"orchestrator": "chair"},
        )
        result = job.result(timeout=40)
        for message in result.dialog.messages:
            print(f"{message.speaker}: {message.content}")
        print(result.reason, result.detail)
        """,
    )
    assert said.splitlines() == [
        "chair: NEXT: reviewer",
        "reviewer: The loop never ends.",
        "chair: DONE: that will do",
        "satisfied that will do",
    ]
