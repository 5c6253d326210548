"""Tasks and conversations: the programs of docs/conversations.md, one after the other, on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/conversations.md")
WORKSPACE = PAGE.take("python", "register_task_manager")
SESSION = PAGE.take("python", "conversation=made")
CLOSE = 'workspace.task_close("chair", made.task.id)\n'


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    agents = [f'[agents.{it}]\nkind = "scripted"\nreplies = ["Red."]\n' for it in ("ann", "ben")]
    return {"agents.toml": "".join(agents)}


@pytest.mark.long
def test_programs_use_a_conversation(terminal: Terminal) -> None:
    assert WORKSPACE.endswith(CLOSE)
    said = run_program(
        terminal,
        # Its task is closed at the end, when a session is in it.
        WORKSPACE.removesuffix(CLOSE),
        """
        client = Client()
        collab = {
            "title": "The colour",
            "purpose": "Choose one.",
            "mode": "round_robin",
            "participants": [{"participant_id": "ann"}, {"participant_id": "ben"}],
        }
        """,
        SESSION,
        """
        import time

        result = job.result(timeout=40)
        until = time.monotonic() + 40
        while len(found := workspace.history("ben", made.conversation.id).items) <= len(result.dialog.messages):
            assert time.monotonic() < until, "the session is archived"
            time.sleep(0.02)
        print(len(found) - 1 == len(result.dialog.messages))
        """,
        CLOSE,
        "print(workspace.task_list('ann').items[0].status)",
    )
    assert said.splitlines() == ["ann Blue?", "True", "closed"]
