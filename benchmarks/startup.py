"""CPU seconds of commands that read sessions, and of the start of a worker until it is ready.

    python benchmarks/startup.py --repeat 5

A CPU second is a second of processor time, user and system, of the whole process: nearly all of it is imports. The
sessions that the commands read are in an embedded server and in an archive: two that ended, one that waits for a
person, a review and a schedule. The output of a command is not a terminal. Before it is measured, everything runs
once, which compiles the modules, as an installer does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec

import psutil

from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import end_process
from symposia.config.settings import Settings, child_environment, load_settings
from symposia.models.sessions.stop_conditions import MaxTurns

AGENTS = """
[agents.quiet]
kind = "scripted"
replies = ["word"]
"""
SESSION = """
title: Start
purpose: Say one word.
mode: round_robin
participants:
  - participant_id: ann
    agent: quiet
  - participant_id: bob
    agent: quiet
stop: {max_rounds: 1}
"""
#: What is measured without a command: the start of the interpreter, and of the libraries of every read.
FLOOR = ("pass", "import redis, typer, pydantic; pydantic.BaseModel")
COMMANDS = (
    "--version",
    "--help",
    "show {session}",
    "watch {session}",
    "graph {session}",
    "export {session}",
    "inbox",
    "list",
    "search word",
    "review list",
    "schedule list",
    "memory show user room",
    "tenant acme",
    "submit {file}",
)
#: Seconds that anything here may take.
PATIENCE_S = 120.0


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each command; the median is printed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agents.toml").write_text(AGENTS)
        (folder / "session.yaml").write_text(SESSION)
        with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
            settings = load_settings(
                redis_url=server.url, agents_file=folder / "agents.toml", data_dir=folder, archive=True
            )
            with Client(settings) as client:
                measure(client, settings, folder, options.repeat)
    return 0


def measure(client: Client, settings: Settings, folder: Path, repeat: int) -> None:
    """Measure everything and print a line for each."""
    environment = child_environment(settings)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for code in FLOOR:
        report(f"python -c {code!r}", run_repeatedly(repeat, cpu_s, ["-c", code], environment))
    starts = run_repeatedly(repeat, worker_start_s, client, environment, folder)
    with running_worker(client, environment, folder):
        placeholders = {"session": prepare(client, folder), "file": str(folder / "session.yaml")}
        for command in COMMANDS:
            arguments = ["-m", "symposia", *command.format(**placeholders).split()]
            report(f"symposia {command}", run_repeatedly(repeat, cpu_s, arguments, environment))
    report("start of a worker", starts)


P = ParamSpec("P")


def run_repeatedly(
    repeat: int, measure: Callable[P, float], *arguments: P.args, **options: P.kwargs
) -> list[float]:
    """Call `measure` once for the compilation of modules, then `repeat` times; return the later results."""
    return [measure(*arguments, **options) for _ in range(repeat + 1)][1:]


def report(name: str, seconds: list[float]) -> None:
    """Print a median, with the least and the greatest value."""
    print(
        f"{name:<84} {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})",
        flush=True,
    )


def cpu_s(arguments: list[str], environment: dict[str, str]) -> float:
    """Run Python with these arguments; return the CPU seconds of the process."""
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime


def worker_start_s(client: Client, environment: dict[str, str], folder: Path) -> float:
    """Start a worker and end it; return its CPU seconds until it had announced itself."""
    with running_worker(client, environment, folder) as process:
        return sum(process.cpu_times()[:2])


@contextmanager
def running_worker(client: Client, environment: dict[str, str], folder: Path) -> Iterator[psutil.Process]:
    """Run a worker; yield its process once it has announced itself."""
    command = [sys.executable, "-m", "symposia.workers", "worker", "--loglevel", "WARNING"]
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    presence = client._installation.sessions.workers
    try:
        wait_until(presence.list_alive, "a worker is ready")
        yield psutil.Process(process.pid)
    finally:
        end_process(process, timeout_s=20)
        wait_until(lambda: not presence.list_alive(), "the worker has left")


def prepare(client: Client, folder: Path) -> str:
    """Create what the commands read; return the id of a session that ended."""
    people = [{"participant_id": name} for name in ("ann", "bob")]
    collab = {"title": "Start", "purpose": "Say one word.", "mode": "round_robin", "participants": people}
    ended = [
        client.submit(collab, agents={"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(4)) for _ in range(2)
    ]
    client.submit(collab, agents={"ann": "quiet", "bob": "human"}, stop=MaxTurns(4))
    client.review(folder / "session.yaml", panel="code").result(PATIENCE_S)
    client.schedules.add("nightly", cron="0 3 * * *", review={"panel": "code", "sessions": {}})
    for job in ended:
        job.result(PATIENCE_S)
    wait_until(client.inbox, "the question is open")
    wait_until(
        lambda: (archive := client.archived()) and archive.search("word").items,
        "the archive has the messages",
    )
    return ended[0].id


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition is true; end the program if it is not in time."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(0.005)


if __name__ == "__main__":
    sys.exit(main())
