"""The Python API: the programs of docs/python.md on a worker."""

from __future__ import annotations

import pytest

from documents.pages import Page
from documents.programs import in_coroutine, run_program
from processes.terminal import Terminal

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/python.md")
GET_JOB, SESSION, REVIEW, OTHERS, ASYNC, EVENTS = PAGE.take_all("python")
#: The id of the page's session.
SHOWN_ID = "3f2a91c4"
AGENTS = """\
[agents.local]
kind = "scripted"
replies = ["Look at this.", "APPROVED: fine."]
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
def test_programs_of_the_page_run_in_order(terminal: Terminal) -> None:
    session = f"{SHOWN_ID}-1111-4111-8111-111111111111"
    said = run_program(
        terminal,
        SESSION.replace("Collab(\n", f'Collab(\n    collab_id="{session}",\n'),
        GET_JOB,
        REVIEW,
        OTHERS,
        in_coroutine(ASYNC),
        EVENTS,
        """
        import asyncio
        from symposia import AsyncClient

        async def sent(**more):
            async with AsyncClient() as browser:
                job = await browser.get_job("3f2a91c4")
                return [text async for text in events(job, **more)]

        texts = asyncio.run(sent())
        last_event_id = texts[1].split()[1]
        again = asyncio.run(sent(last_event_id=last_event_id))
        assert texts[2:] == again and len(texts) == 5, texts

        async def known(*ids):
            async with AsyncClient() as browser:
                job = await browser.get_job("3f2a91c4")
                return [await is_known(job, one) for one in ids]

        assert asyncio.run(known(last_event_id, texts[3].split()[1], "1-1", "x")) == [True, True, False, False]
        entry = client.schedules.get("nightly")
        print(entry.schedule.name, entry.paused, client.memory.get(42, "room")["parameters"])
        """,
    )
    lines = [it for it in said.splitlines() if it not in ("0 of 1", "1 of 1")]
    dialog = [
        "coder Look at this.",
        "reviewer Look at this.",
        "coder APPROVED: fine.",
        "reviewer APPROVED: fine.",
    ]
    assert lines == [
        *dialog,
        "completed",
        "['`os` imported but unused']",
        *dialog,
        "nightly True {'to': 'London'}",
    ]
