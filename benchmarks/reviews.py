"""Items a second of a batch review with a program that does nothing, next to bare sessions of the same program.

    .venv/bin/python benchmarks/reviews.py [--items 100] [--repeat 3]

Both run on one embedded server and one worker process, one after the other (A B A B ...), as many at a
time as the worker does, without an archive: what is between them is what the batch itself costs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import child_environment, load_settings
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.reviews.batches.start import start_batch
from symposia.reviews.requests.files import request_for_files

AGENTS = """
[agents.idle]
kind = "command"
argv = ["echo", "Nothing to fix."]
"""
PANEL = """
[idle]
mode = "round_robin"
purpose = "Do nothing."
parallel = 64
stop = { max_rounds = 1 }
seats = [{ name = "first", agent = "idle" }, { name = "second", agent = "idle" }]
"""
#: Seconds that anything here may take.
PATIENCE_S = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=100, help="files of the batch, and bare sessions")
    parser.add_argument("--repeat", type=int, default=3, help="pairs of runs")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agents.toml").write_text(AGENTS)
        (folder / "panels.toml").write_text(PANEL)
        with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
            settings = load_settings(
                redis_url=server.url, agents_file=folder / "agents.toml", data_dir=folder, archive=False
            )
            command = [sys.executable, "-m", "celery", "-A", "symposia.workers", "worker"]
            environment = {**os.environ, **child_environment(settings)}
            with (folder / "worker.log").open("wb") as log:
                worker = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            try:
                measure(Client(settings), files(folder / "files", chosen.items), chosen.repeat)
            finally:
                worker.terminate()
                worker.wait(20)


def files(folder: Path, count: int) -> Path:
    """Create a folder with this many small files."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:05}.txt").write_text(f"Number {number}.\n")
    return folder


def measure(client: Client, folder: Path, repeat: int) -> None:
    until(client._installation.sessions.workers.list_alive, "a worker is there")
    count = len(list(folder.iterdir()))
    bare_rate(client, min(count, 10)), batch_rate(client, folder)  # warm up
    pairs = [(bare_rate(client, count), batch_rate(client, folder)) for _ in range(repeat)]
    bare, batch = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(items / sessions for sessions, items in pairs)
    print(f"{count:,} items: {batch:.1f} items/s, bare sessions {bare:.1f}/s, ratio (median) {ratio:.2f}")


def bare_rate(client: Client, count: int) -> float:
    """Sessions a second that are all submitted at once."""
    seats = ("first", "second")
    collab: dict[str, Any] = {"title": "bench", "purpose": "Do nothing.", "mode": "round_robin"}
    collab["participants"] = [{"participant_id": seat} for seat in seats]
    began = time.perf_counter()
    for _ in range(count):
        client.submit(collab, agents=dict.fromkeys(seats, "idle"), stop=MaxTurns(2), messages=["Nothing."])
    until(lambda: client._installation.reviews.session_index.unfinished() == 0, "the sessions have ended")
    return count / (time.perf_counter() - began)


def batch_rate(client: Client, folder: Path) -> float:
    """Items a second of one batch, from reading the files to the report."""
    began = time.perf_counter()
    order = request_for_files([folder], panel="idle", panels_file=folder.parent / "panels.toml")
    run = client.get_review(start_batch(client._installation.reviews, order)).result(PATIENCE_S)
    took = time.perf_counter() - began
    assert run.state == "completed", run.summary
    return len(run.results) / took


def until(condition: Callable[[], object], what: str) -> None:
    """Poll; raise with a description after a timeout."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
