"""The views with an eager app, and with a worker on the server of the variable REDIS_URL."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()
from django.test import AsyncClient  # noqa: E402
from shop.celery import app  # noqa: E402


@pytest.fixture(params=["eager", "worker"])
def running(request):
    """An eager app, or a worker."""
    app.conf.task_always_eager = request.param == "eager"
    if request.param == "eager":
        yield
        return
    if "REDIS_URL" not in os.environ:
        pytest.skip("needs the server of REDIS_URL")
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "--pool", "threads", "-c", "2"]
    worker = subprocess.Popen(command, cwd=Path(__file__).parent)
    yield
    worker.terminate()
    worker.wait(60)


async def converse():
    browser = AsyncClient()
    submitted = await browser.post("/", {"topic": "a red door"})
    page = submitted.headers["Location"]
    assert b"EventSource" in (await browser.get(page)).content
    deadline = time.monotonic() + 60
    while (await browser.post(f"{page}/reply", {"text": "Make it blue."})).status_code == 409:
        assert time.monotonic() < deadline, "the editor is not asked"
        await asyncio.sleep(0.1)
    text = await read_events(browser, page)
    assert text.index("We offer a red door.") < text.index("Make it blue.") < text.index("event: end")

    first, last = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
    for after, expected in ((first, "Make it blue."), (last, "event: end")):
        again = await read_events(browser, page, headers={"Last-Event-ID": after})
        assert expected in again
        assert "We offer" not in again
    for wrong in ("1-1", "x"):
        refused = await browser.get(f"{page}/events", headers={"Last-Event-ID": wrong})
        assert refused.status_code == 400


async def read_events(browser, page, **options):
    events = await browser.get(f"{page}/events", **options)
    return "".join([part.decode() async for part in events.streaming_content])


def test_person_answers_in_the_browser(running):
    asyncio.run(converse())
