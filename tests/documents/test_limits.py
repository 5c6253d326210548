"""Limits: the session and the model of docs/limits.md."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal
from servers.model_stub import StubModel, completion

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/limits.md")
SESSION = PAGE.take("python", "TokenBudget(50_000)")
MODEL = PAGE.take("toml", "requests_per_minute")
#: The agents that the page takes for granted; the model is the page's own, at an endpoint of this machine.
AGENTS = """\
base_url = "{url}"

[agents.writer]
kind = "llm"
model = "house"

[agents.critic]
kind = "scripted"
replies = ["APPROVED: good."]
"""


@pytest.fixture(scope="module")
def files(model: StubModel) -> dict[str, str]:
    # Anthropic's client is a package of its own.
    table = MODEL.replace("anthropic:claude-sonnet-4-5", "claude-sonnet-4-5")
    return {"agents.toml": table + AGENTS.format(url=model.url)}


@pytest.mark.long
def test_session_within_its_limits_is_charged_to_its_tenant(terminal: Terminal, model: StubModel) -> None:
    model.answers(completion("A line."))
    said = run_program(
        terminal,
        """
        people = [{"participant_id": "ann"}, {"participant_id": "bob"}]
        collab = {"title": "A", "purpose": "B", "mode": "pair", "participants": people}
        """,
        SESSION,
        """
        import time

        reason = job.result(timeout=40).reason
        while not (tokens := symposia.Client().tenant("acme").tokens):
            time.sleep(0.02)  # the tenant is charged after the turn was written
        print(reason, tokens)
        """,
    )
    assert said == "approved 18\n"
