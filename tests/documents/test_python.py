"""The Python API: the programs of docs/python.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import in_coroutine, run_program
from processes.terminal import Terminal

PAGE = Page("docs/python.md")
GET_JOB, SESSION, REVIEW, OTHERS, ASYNC = PAGE.take_all("python")
#: The id of the page's session.
SHOWN_ID = "3f2a91c4"
AGENTS = """\
[agents.local]
kind = "scripted"
replies = ["Look at this.", "APPROVED: fine."]
"""
STANDUP = """\
title: Standup
purpose: Say what is next.
mode: round_robin
participants: [{participant_id: ann, agent: echo}]
stop: {max_turns: 1}
"""


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {
        "agents.toml": AGENTS,
        "src/app.py": "import os\n",
        "app/app.py": "import os\n",
        "symposia.toml": '[review_roots]\napp = "app"\n',
    }


@pytest.mark.long
def test_programs_submit_find_and_review(installation: Terminal) -> None:
    session = f"{SHOWN_ID}-1111-4111-8111-111111111111"
    said = run_program(
        installation,
        SESSION.replace("Collab(\n", f'Collab(\n    collab_id="{session}",\n'),
        GET_JOB,
        "client = Client()",
        REVIEW,
        OTHERS,
        "print(client.schedules.get('nightly').cron, client.memory.get(42, 'room')['parameters'])",
    )
    assert said.splitlines() == []


@pytest.mark.long
def test_asyncio_program_submits(installation: Terminal) -> None:
    (collab,) = [it for it in SESSION.split("with Client()")[:1]]
    said = run_program(
        installation,
        collab,
        "client = Client()",
        'client.schedules.add("nightly", cron="0 3 * * *", review={"panel": "code", "root": "app"})',
        in_coroutine(ASYNC),
        "print(client.schedules.get('nightly').paused)",
    )
    assert said.splitlines() == []
