"""`symposia worker` with several processes: signals, restarts, exit codes, and no process is left."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from live import until
from processes.gone import command_of
from processes.terminal import Running, Terminal
from servers.ports import own_port
from symposia.patches.celery_consumer import BAD_CONFIGURATION

#: They start many processes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def start(terminal: Terminal, *options: str) -> Running:
    running = terminal.start("worker", "--processes", "2", "--concurrency", "2", "--name", "w@here", *options)
    until(lambda: names(terminal) == {"w-1@here", "w-2@here"}, timeout_s=40, what="both are there")
    return running


def names(terminal: Terminal) -> set[str]:
    return {word.strip(",;") for word in terminal.call("doctor").out.split() if "@here" in word}


def process(terminal: Terminal, name: str) -> psutil.Process:
    [found] = [it for it in terminal.processes() if f"--hostname={name}" in command_of(it)]
    return found


def speaking(terminal: Terminal, gated_file: str) -> str:
    """Submit a session, and return its id once its second turn runs."""
    session = terminal.call("submit", gated_file).out.strip()
    terminal.wait_until_speaks(session, "bob")
    return session


@pytest.fixture(autouse=True)
def nothing_is_left(terminal: Terminal) -> Iterator[None]:
    yield
    terminal.wait_until_nothing_runs()


def test_all_processes_run_turns_and_the_first_serves_metrics(
    terminal: Terminal, gated_file: str, gate: Path
):
    """Each has one thread, and two turns run at the same time."""
    port = own_port()
    worker = start(terminal, "--concurrency", "1", "--metrics-port", str(port))
    serving = {
        name: {it.laddr.port for it in process(terminal, name).net_connections() if it.status == "LISTEN"}
        for name in ("w-1@here", "w-2@here")
    }
    assert serving == {"w-1@here": {port}, "w-2@here": set()}
    sessions = terminal.run("submit", gated_file, gated_file).out.split()
    for session in sessions:
        terminal.wait_until_speaks(session, "bob")
    gate.touch()
    for session in sessions:
        assert terminal.run("watch", session).code == 0
    worker.process.terminate()
    assert worker.ended().code == 0


def test_first_signal_waits_for_the_turns(terminal: Terminal, gated_file: str, gate: Path):
    worker = start(terminal)
    session = speaking(terminal, gated_file)
    worker.process.send_signal(signal.SIGTERM)
    worker.until("stopping after the turns in flight")
    worker.process.send_signal(signal.SIGTERM)  # another one has no effect
    wait_for_the_one_with_a_turn(terminal)
    gate.touch()
    assert worker.ended().code == 0
    terminal.wait_until_nothing_runs()
    assert terminal.call("show", session).out.count("bob") > 1


def wait_for_the_one_with_a_turn(terminal: Terminal) -> None:
    until(lambda: len(terminal.processes()) == 2, timeout_s=20, what="the process without a turn has ended")


@pytest.mark.parametrize(
    "signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGQUIT,)], ids=["Ctrl-C", "QUIT"]
)
def test_second_ctrl_c_and_sigquit_cancel_the_turns(terminal: Terminal, gated_file: str, signals):
    worker = start(terminal)
    session = speaking(terminal, gated_file)
    for number in signals[:-1]:
        worker.process.send_signal(number)
        worker.until("stopping after the turns in flight")
        wait_for_the_one_with_a_turn(terminal)
    worker.process.send_signal(signals[-1])
    worker.ended()
    terminal.wait_until_nothing_runs()
    assert terminal.call("show", session, "--json").json()["status"] == "active"


def test_processes_are_replaced_and_end_with_their_supervisor(
    terminal: Terminal, gated_file: str, gate: Path
):
    worker = start(terminal)
    until(lambda: worker.err.count(" ready.") == 2, timeout_s=40, what="both are ready")
    worker.process.send_signal(signal.SIGHUP)
    until(lambda: worker.err.count(" ready.") == 4, timeout_s=60, what="both are ready again")
    session = speaking(terminal, gated_file)
    for name in ("w-1@here", "w-2@here"):
        process(terminal, name).kill()
    gate.touch()
    worker.until("worker 1: was ended by SIGKILL; restarting in").until("worker 2: was ended by SIGKILL")
    assert terminal.run("watch", session, timeout_s=90).code == 0
    worker.process.kill()


def test_failing_process_ends_all_with_its_exit_code(terminal: Terminal):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        worker = terminal.start("worker", "--processes", "2", "--metrics-port", port)
        worker.until("worker 1 failed 5 times in a row", timeout_s=90)
        assert worker.ended().code == BAD_CONFIGURATION
