"""The routes with an eager app, and with a worker on the server of the variable REDIS_URL."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from celery_app import app as celery_app
from fastapi.testclient import TestClient
from main import app


@pytest.fixture(params=["eager", "worker"])
def browser(request):
    """A client of the application, with an eager app or with a worker."""
    celery_app.conf.task_always_eager = request.param == "eager"
    if request.param == "eager":
        with TestClient(app) as browser:
            yield browser
        return
    if "REDIS_URL" not in os.environ:
        pytest.skip("needs the server of REDIS_URL")
    command = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "--pool", "threads", "-c", "2"]
    worker = subprocess.Popen(command, cwd=Path(__file__).parent)
    with TestClient(app) as browser:
        yield browser
    worker.terminate()
    worker.wait(60)


def test_person_answers_in_the_browser(browser):
    assert "EventSource" in browser.get("/").text
    session = f"/sessions/{browser.post('/sessions', json={'topic': 'a red door'}).json()['id']}"
    deadline = time.monotonic() + 60
    while browser.post(f"{session}/reply", json={"text": "Make it blue."}).status_code == 409:
        assert time.monotonic() < deadline, "the editor is not asked"
        time.sleep(0.1)
    text = browser.get(f"{session}/events").text
    assert text.index("We offer a red door.") < text.index("Make it blue.") < text.index("event: end")

    first, last = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
    for after, expected in ((first, "Make it blue."), (last, "event: end")):
        again = browser.get(f"{session}/events", headers={"Last-Event-ID": after}).text
        assert expected in again
        assert "We offer" not in again
    for wrong in ("1-1", "x"):
        assert browser.get(f"{session}/events", headers={"Last-Event-ID": wrong}).status_code == 400
