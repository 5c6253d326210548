"""`symposia up`: all processes in one group, restarted after a crash, and stopped together."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from live import until
from processes.gone import command_of
from processes.terminal import Running, Terminal
from scaling import patient
from servers.ports import keep_port, own_port

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def up(bare: Terminal) -> Iterator[Running]:
    """All services; a test ends them, and none of them may be left."""
    keep_port(Path(bare.settings["data_dir"]))
    running = bare.start("up", "--no-flower", "--no-http", "--no-local-model", "--concurrency", "2")
    running.until("press Ctrl-C to stop all services")
    until(lambda: bare.call("doctor").code == 0, timeout_s=40, what="all is well")
    yield running
    bare.wait_until_nothing_runs()


def named(terminal: Terminal, word: str):
    return [process for process in terminal.processes() if any(word in part for part in command_of(process))]


@pytest.mark.long
def test_up_runs_sessions_and_ctrl_c_stops_everything(bare: Terminal, up: Running, pair_file):
    up.until("up       | ready")
    said = bare.call("run", pair_file)
    assert (said.code, said.err) == (0, "")
    assert len(bare.processes()) == 5  # up, its fork server, the server, the beat, the worker
    ended = up.interrupt().ended()
    assert ended.code == 0
    assert "up       | server at redis://:***@127.0.0.1:" in ended.out
    assert ended.out.count("up       | ready") == 1
    assert "up       | stopping after the turns in flight" in ended.out


@pytest.mark.long
def test_no_process_survives_a_killed_up(bare: Terminal, up: Running):
    up.process.kill()


def test_port_of_flower_in_use_is_one_line(bare: Terminal):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = Terminal(bare.folder, {**bare.settings, "flower_port": str(port)})
        said = busy.call("up", "--no-local-model")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "SYMPOSIA_FLOWER_PORT: is already in use on 127.0.0.1" in said.err
    assert str(port) in said.err
    bare.wait_until_nothing_runs()


@pytest.mark.long
def test_up_serves_the_http_api(bare: Terminal):
    port = own_port()
    bare.settings["http_port"] = str(port)
    running = bare.start("up", "--no-flower", "--no-beat", "--no-local-model", "--concurrency", "2")
    running.until(f"HTTP API at http://127.0.0.1:{port}/v1")
    running.until("up       | ready")
    assert opened(f"http://127.0.0.1:{port}/v1/sessions") == '{"items":[],"next_cursor":null}'
    running.interrupt().ended()
    bare.wait_until_nothing_runs()


@pytest.mark.long
def test_a_second_up_is_reported(bare: Terminal, up: Running):
    second = bare.start("up", "--no-flower", "--no-local-model", "--no-beat")
    second.until(f"worker1@{socket.gethostname()} may run already: if another `symposia up` runs")
    second.interrupt().ended()
    up.process.send_signal(signal.SIGTERM)
    assert up.ended().code == 0


def state_of_beat(terminal: Terminal) -> str:
    findings = terminal.call("doctor", "--json").json()["findings"]
    return next(it["text"] for it in findings if it["subject"] == "beat")


@pytest.mark.long
def test_dead_processes_are_restarted(bare: Terminal, up: Running, pair_file):
    until(lambda: state_of_beat(bare).startswith("1 running"), timeout_s=40, what="the beat is heard of")
    for victim, told in (
        ("--pidfile=", "beat: was ended"),
        ("--hostname=worker1", "worker1: was ended"),
        ("valkey-server", "server: was ended"),
    ):
        (process,) = named(bare, victim)
        process.kill()
        up.until(f"{told} by SIGKILL")
        until(lambda victim=victim: named(bare, victim), what=f"{victim} is started again")
    until(lambda: bare.call("doctor").code == 0, timeout_s=40, what="all is well again")
    session = bare.run("submit", pair_file).out.strip()
    assert bare.run("watch", session).code == 0
    up.process.send_signal(signal.SIGHUP)
    assert up.ended().code == 0


@pytest.mark.long
def test_second_ctrl_c_ends_a_running_turn(terminal: Terminal, gated_file):
    up = terminal.start("up", "--no-flower", "--no-local-model").until("ready.")
    session = terminal.call("submit", gated_file).out.strip()
    terminal.wait_until_speaks(session, "bob")
    up.interrupt().until("Warm shutdown")
    assert terminal.processes()
    assert up.interrupt().ended().code == 0
    terminal.wait_until_nothing_runs()
    assert terminal.call("show", session, "--json").json()["status"] == "active"


@pytest.mark.long
def test_beat_command_runs_and_stops(terminal: Terminal):
    assert terminal.call("schedule", "add", "tick", "--cron", "@daily", "--job", "standup").code == 0
    beat = terminal.start("beat", as_installed=True)
    until(lambda: "1 running; 1 schedule" in terminal.call("doctor").out, timeout_s=40, what="it is there")
    beat.process.terminate()
    assert beat.ended().code == 0
    terminal.wait_until_nothing_runs()
    assert "no beat is running: 1 schedule depends on the sweep" in terminal.call("doctor").out


@pytest.mark.long
@pytest.mark.parametrize(
    ("pool", "called"), [("threads", "thread"), ("prefork", "prefork"), ("solo", "solo")]
)
def test_worker_command_runs_and_stops(terminal: Terminal, pair_file, pool, called):
    options = ("--pool", pool, "--concurrency", "2", "--name", "w9@here", "--loglevel", "warning")
    worker = terminal.start("worker", *options, as_installed=pool == "threads")
    worker.until(f"concurrency: 2 ({called})")
    until(lambda: terminal.call("doctor").code == 0, timeout_s=40, what="the worker is there")
    assert "w9@here" in terminal.call("doctor").out
    said = terminal.call("run", pair_file)
    assert (said.code, said.err) == (0, "")
    worker.process.terminate()
    # Celery forgets a task that a process was given and has not accepted yet; the process waits 30 s for it to take the result.
    assert worker.ended(timeout_s=60).code == 0
    terminal.wait_until_nothing_runs()


@pytest.mark.long
def test_flower_shows_workers_without_passwords(bare: Terminal):
    port = own_port()
    bare.settings["flower_port"] = str(port)
    running = bare.start("up", "--no-local-model").until("up       | ready", timeout_s=60)
    page = f"http://127.0.0.1:{port}/workers"
    until(lambda: "worker1@" in opened(page), timeout_s=30, what="Flower shows the worker")
    assert 'href="/collabs"' in opened(page)
    assert '"collabs": []' in opened(f"http://127.0.0.1:{port}/api/collabs")
    password = (bare.folder / "data" / "valkey" / "password").read_text()
    for process in bare.processes():
        assert password not in " ".join(process.cmdline())
    assert password not in running.out
    running.interrupt().ended()
    bare.wait_until_nothing_runs()


def opened(url: str) -> str:
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=patient(5)) as answer:
            return answer.read().decode()
    except OSError:
        return ""


@pytest.mark.long
def test_json_logs_are_one_object_per_line(bare: Terminal):
    speaking = Terminal(bare.folder, {**bare.settings, "log_format": "json"})
    running = speaking.start("up", "--no-flower", "--no-local-model", "--concurrency", "2")
    running.until('"message": "ready"')
    lines = [json.loads(line) for line in running.interrupt().ended().out.splitlines()]
    assert {"up", "beat", "http", "worker1"} >= {line["service"] for line in lines} >= {"up", "worker1"}
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert "redis://:***@127.0.0.1:" in " ".join(line["message"] for line in lines)
    bare.wait_until_nothing_runs()
