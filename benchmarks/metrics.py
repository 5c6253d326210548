"""Cost of counting: the same turns in a worker that counts for monitoring and in one that does not.

    python benchmarks/metrics.py --repeat 10

Both workers run in one go, on two databases of one embedded server, and take turns (A B B A ...), because
machines are noisy. The processor time of a worker per turn is less noisy than turns per second. Agents do
nothing, so a real turn costs relatively less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from harness.agents import AGENTS
from harness.loads import REPEATING, agents_of, build_collab
from rich.console import Console
from rich.table import Table

from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import child_environment, load_settings
from symposia.models.sessions.stop_conditions import MaxTurns

KINDS = ("counted", "uncounted")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=8, help="sessions side by side")
    parser.add_argument("--turns", type=int, default=200, help="turns of each session")
    parser.add_argument("--repeat", type=int, default=10, help="pairs of runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    (folder / "agents.toml").write_text(AGENTS)
    with EmbeddedServer(folder) as server:
        base = server.url.rpartition("/")[0]
        sides = [Side(kind, folder, f"{base}/{number}") for number, kind in enumerate(KINDS)]
        try:
            return report(sides, options)
        finally:
            for side in sides:
                side.close()


class Side:
    """A worker with a database of its own, and a client for it."""

    def __init__(self, kind: str, folder: Path, url: str) -> None:
        settings = load_settings(
            redis_url=url, agents_file=folder / "agents.toml", data_dir=folder, archive=False
        )
        here = str(Path(__file__).parent)
        env = {
            **child_environment(settings),
            "PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH")))),
        }
        command = [sys.executable, "-m", "celery", "-A", f"harness.worker_apps:{kind}", "worker"]
        with (folder / f"{kind}.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--loglevel", "WARNING", "-n", f"{kind}@local"], stdout=log, stderr=log, env=env
            )
        self.client = Client(settings)
        self.seconds: list[float] = []
        self.processor_seconds: list[float] = []

    def measure(self, options: argparse.Namespace) -> None:
        """Run the sessions once."""
        agents = agents_of("round_robin")
        worker = psutil.Process(self.process.pid)
        began, used = time.perf_counter(), sum(worker.cpu_times()[:2])
        for _ in range(options.sessions):
            collab = build_collab("round_robin", agents)
            self.client.submit(collab, agents=agents, stop=MaxTurns(options.turns), options=REPEATING)
        while self.client._installation.sessions.connections.index.unfinished():
            time.sleep(0.005)
        turns = options.sessions * options.turns
        self.seconds.append((time.perf_counter() - began) / turns)
        self.processor_seconds.append((sum(worker.cpu_times()[:2]) - used) / turns)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def report(sides: list[Side], options: argparse.Namespace) -> int:
    """Measure and print; the exit code."""
    for side in sides:
        while not side.client._installation.sessions.workers.list_alive():
            time.sleep(0.1)
        side.measure(options)  # warm up
        side.seconds.clear()
        side.processor_seconds.clear()
    for pair in range(options.repeat):
        for side in sides if pair % 2 else reversed(sides):
            side.measure(options)
    table = Table(title=f"{options.repeat} pairs of {options.sessions} sessions of {options.turns} turns")
    for heading in ("worker", "turns/s", "processor time per turn"):
        table.add_column(heading, justify="left" if heading == "worker" else "right")
    for kind, side in zip(KINDS, sides, strict=True):
        rate, used = 1 / statistics.median(side.seconds), statistics.median(side.processor_seconds)
        table.add_row(kind, f"{rate:.0f}", f"{used * 1e6:.0f} us")
    Console(width=100).print(table)
    counted, uncounted = sides
    for what, left, right in (
        ("time", counted.seconds, uncounted.seconds),
        ("processor time", counted.processor_seconds, uncounted.processor_seconds),
    ):
        ratios = sorted(a / b for a, b in zip(left, right, strict=True))
        print(
            f"{what}, counted / uncounted: median {statistics.median(ratios):.3f}, {ratios[0]:.3f} to {ratios[-1]:.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
