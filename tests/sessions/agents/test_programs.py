"""Programs in sessions on real workers: the end of a turn ends its program."""

from __future__ import annotations

import sys

import psutil
import pytest

from live import result_of, until
from processes.gone import is_gone

PROGRAM = """
[agents.sleeper]
kind = "command"
argv = ["{python}", "-c", "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)", "PIDS"]

[agents.counter]
kind = "command"
argv = ["{python}", "-c", "import json, sys; print(len(json.load(sys.stdin)['messages']), 'so far')"]
"""


@pytest.fixture
def pids(installation):
    """The file with the process id of the sleeping program."""
    path = installation.folder / "pid"
    file = installation.folder / "agents.toml"
    file.write_text(file.read_text() + PROGRAM.replace("PIDS", str(path)))
    return path


@pytest.fixture
def asleep(installation, pids):
    """A session whose program sleeps, and the program."""
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "sleeper"})
    until(lambda: pids.exists() and pids.read_text(), what="the program runs")
    return job, psutil.Process(int(pids.read_text()))


def test_a_program_speaks_in_turn_and_hears_the_dialog(installation, pids, checked):
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "counter", "bob": "say"}, stop={"max_turns": 4})
    result = result_of(job)
    assert [m.content for m in result.dialog.messages if m.speaker == "ann"] == ["0 so far", "2 so far"]
    checked(job, result)


@pytest.mark.long
def test_cancelled_session_ends_its_program(asleep):
    job, process = asleep
    job.cancel()
    until(lambda: is_gone(process), timeout_s=30, what="the program is gone")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.long
def test_killed_worker_ends_its_program(installation, asleep):
    job, process = asleep
    installation.workers[0].kill()
    until(lambda: is_gone(process), timeout_s=30, what="the program is gone")
    job.cancel()
