"""The three steps with an eager app, and with a worker on the server of the variable REDIS_URL."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shop import app, offer


@pytest.fixture(params=["eager", "worker"])
def mode(request):
    """Run the tasks in this process, or in a worker."""
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


def test_session_is_a_step(mode):
    assert offer("a red door.").get(timeout=60) == "2 turns, completed: Good: 40 dollars."
