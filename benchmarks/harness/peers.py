"""Conversations of a peer in processes of its own environment, and the same conversations of ours.

Both are measured from the continuation of conversations that have their history, until the last turn has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import BenchmarkError, SkippedCase
from harness.loads import Load, Values, submit, wait_archived
from harness.stage import FOLDER, PATIENCE_S, Place, wait_until
from symposia.jobs.collab import CollabJob

ENVIRONMENT = FOLDER.parent / ".venv" / "peers"
PYTHON = ENVIRONMENT / "bin" / "python"
#: Seconds after which a run of a peer ends early; its rate is that of the turns so far.
LIMIT_S = 20.0


@dataclass(frozen=True)
class Conversations:
    """Conversations of two agents that have a history and take more turns."""

    sessions: int
    turns: int
    history: int


def is_installed() -> bool:
    """Return whether the environment of the peers exists."""
    return (ENVIRONMENT / ".installed").exists()


def check_installed() -> None:
    """Check that the environment of the peers exists.

    Raises:
        SkippedCase: It does not.
    """
    if not is_installed():
        raise SkippedCase("the peers are not installed: `make peers`")


def run_ours(place: Place, load: Conversations) -> Values:
    """Submit and suspend the sessions, resume all, and return the turns per second from then on.

    Turns that ran before the sessions were suspended do not count.
    """
    agents = {"ann": "quiet", "bob": "quiet"}
    jobs = []
    for _ in range(load.sessions):
        jobs += submit(place, Load("round_robin", 1, load.turns, agents, history=load.history))
        jobs[-1].suspend()
    wait_until(lambda: all(has_settled(session) for session in jobs), "running turns are held")
    wait_until(lambda: has_archived(place, jobs), "the history is archived")
    taken = sum(count_taken(session) for session in jobs)
    began = time.perf_counter()
    for job in jobs:
        job.resume()
    wait_until(lambda: place.unfinished() == 0, f"{len(jobs)} sessions end")
    seconds = time.perf_counter() - began
    turns = sum(session.state().closed for session in jobs)
    if turns != load.sessions * load.turns:
        raise BenchmarkError(f"{turns} turns instead of {load.sessions * load.turns}")
    wait_archived(place)
    return {"rate": (turns - taken) / seconds}


def has_settled(job: CollabJob) -> bool:
    """Return whether no turn of a suspended session is running."""
    return all(turn.status != "speaking" for turn in job.state().open_turns())


def has_archived(place: Place, jobs: list[CollabJob]) -> bool:
    """Return whether the archive has the history: it checks each session again, some seconds from now.

    A session that waits for its first check is due, and one that is being archived is due much later.
    """
    now, queue = time.time_ns() // 1_000_000, place.archive_queue
    soon = now + 2_000 * round(place.setup.archive_interval_s)
    return queue.count(before_ms=soon) - queue.count(before_ms=now) >= len(jobs)


def count_taken(job: CollabJob) -> int:
    """Return the number of turns whose agent has answered."""
    state = job.state()
    return state.closed + sum(turn.status == "held" for turn in state.open_turns())


def run_peer(peer: str, load: Conversations, *, relaxed: bool, url: str) -> Values:
    """Run the conversations in a process for each core, and return the turns per second of all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [load.sessions // cores + (number < load.sessions % cores) for number in range(cores)]
    options = [f"--turns={load.turns}", f"--history={load.history}", f"--seconds={LIMIT_S}"]
    options += [f"--url={url}"] if url else []
    options += ["--relaxed"] if relaxed else []
    with ExitStack() as stack:
        processes = [
            stack.enter_context(start(peer, [*options, f"--sessions={sessions}"]))
            for sessions in shares
            if sessions
        ]
        for process in processes:
            read_line(process, peer)
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        results = [json.loads(read_line(process, peer)) for process in processes]
    return {"rate": sum(result["turns"] for result in results) / max(result["seconds"] for result in results)}


@contextmanager
def start(peer: str, options: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process of a peer in a temporary folder; end it with the context, or when it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "log"
        command = [str(PYTHON), str(FOLDER / "peers" / "run.py"), peer, f"--folder={folder}", *options]
        with (
            log_file.open("w") as log,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder
            ) as process,
        ):
            timer = threading.Timer(PATIENCE_S, process.kill)
            timer.start()
            try:
                yield process
            except BenchmarkError as error:
                lines = log_file.read_text().strip().splitlines()
                raise BenchmarkError(f"{error}: {lines[-1] if lines else 'no output'}") from None
            finally:
                timer.cancel()
                process.kill()


def read_line(process: subprocess.Popen[str], peer: str) -> str:
    """Return the next line of a peer.

    Raises:
        BenchmarkError: The process ended without one.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BenchmarkError(f"{peer} ended with exit code {process.wait()}")
    return line
