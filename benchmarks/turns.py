"""Turns per second of each mode with agents that do nothing, next to bare Celery tasks of the same shape.

    make bench                                 # or: python benchmarks/turns.py --sessions 8 --turns 300

Everything runs in one go on one embedded server, bare and turns in turn (A B A B ...), because
machines are noisy: only the ratios mean something. Turns run in one worker process; bare tasks in
another one, of Celery as it comes with the same settings. Bare tasks leave nothing in an archive,
so the turns they are compared with leave nothing there either. The last columns tell what bare
tasks come to in the worker of the turns, over its leaner transport, and what the same turns come
to while that worker archives them beside its work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

WIDTH = 4
COLUMNS = ("mode", "bare tasks/s", "turns/s", "ratio (median)", "min", "max")
MORE = ("bare, leaner", "ratio", "archived turns/s", "ratio")
AGENTS = """
[agents.quiet]
kind = "scripted"
replies = ["word"]

[agents.lead]
kind = "scripted"
replies = ["NEXT: ann"]

[agents.reviewer]
kind = "scripted"
replies = ["once more"]
"""


def read_options(description: str, *, repeat: int) -> argparse.Namespace:
    """Return the options of the command line; `repeat`: the default number of pairs of runs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sessions", type=int, default=8, help="sessions (and bare chains) side by side")
    parser.add_argument("--turns", type=int, default=200, help="turns of each session")
    parser.add_argument("--repeat", type=int, default=repeat, help="pairs of runs")
    return parser.parse_args()


def main() -> int:
    options = read_options(__doc__.splitlines()[0], repeat=3)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    from symposia.config.settings import load_settings
    from symposia.workers.local.embedded import EmbeddedServer

    (folder / "agents.toml").write_text(AGENTS)
    with EmbeddedServer(folder) as server:
        os.environ["SYMPOSIA_REDIS_URL"] = server.url
        os.environ["SYMPOSIA_AGENTS_FILE"] = str(folder / "agents.toml")
        os.environ["SYMPOSIA_DATA_DIR"] = str(folder)
        sys.path.insert(0, str(Path(__file__).parent))
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
        )
        workers = [start_worker(folder, name) for name in ("app", "plain")]
        try:
            bench = Bench(load_settings(), options)
            bench.wait_for_workers()
            return bench.report()
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait(20)


def start_worker(folder: Path, name: str):
    import subprocess

    log = (folder / f"{name}.log").open("wb")
    command = [sys.executable, "-m", "celery", "-A", f"bare:{name}", "worker", "--loglevel", "WARNING"]
    return subprocess.Popen([*command, "-n", f"{name}@local"], stdout=log, stderr=log, env=os.environ)


class Bench:
    """Runs shapes and compares them."""

    def __init__(self, settings, options) -> None:
        import bare

        from symposia.client import Client
        from symposia.state.redis.connect import connect
        from symposia.state.sessions.archiving import ArchiveQueue

        self.bare = bare
        self.client = Client(settings.model_copy(update={"archive": False}))
        self.archiving = Client(settings)
        self.owed = ArchiveQueue(connect(self.client.redis_url))
        self.options = options

    def wait_for_workers(self) -> None:
        for app in (self.bare.app, self.bare.plain):
            while not app.control.ping(timeout=0.5):
                pass

    def timed(self, start: Callable[[], None], done: Callable[[], bool]) -> float:
        """Seconds from `start` until `done`."""
        began = time.perf_counter()
        start()
        while not done():
            time.sleep(0.005)
        return time.perf_counter() - began

    def bare_rate(self, *, width: int, leaner: bool = False) -> float:
        """Bare tasks per second: hops for width 1, groups with a barrier for more; `leaner`: in the turns' worker."""
        bare = self.bare.ON_TURNS_TRANSPORT if leaner else self.bare.AS_IT_COMES
        rounds = self.options.turns // width
        self.bare.redis.delete(self.bare.DONE, *self.bare.redis.scan_iter("bench:*"))

        def start() -> None:
            for chain in range(self.options.sessions):
                bare.start(f"chain-{chain:031}", width=width, rounds=rounds)

        seconds = self.timed(
            start, lambda: int(self.bare.redis.get(self.bare.DONE) or 0) >= self.options.sessions
        )
        return self.options.sessions * rounds * width / seconds

    def turn_rate(self, mode: str, *, archived: bool = False) -> float:
        """Turns per second of a mode; what is `archived` is in the archive before anything else is measured."""
        from symposia.models.sessions.stop_conditions import MaxTurns

        client = self.archiving if archived else self.client

        agents, extra = SHAPES[mode]
        turns = self.options.turns // WIDTH * WIDTH

        def start() -> None:
            for _ in range(self.options.sessions):
                client.submit(collab(mode, agents), agents=agents, stop=MaxTurns(turns), **extra(turns))

        def done() -> bool:
            return client._installation.sessions.connections.index.unfinished() == 0

        seconds = self.timed(start, done)
        while self.owed.count(before_ms=time.time_ns() // 1_000_000 + 60_000):
            time.sleep(0.1)  # entries due later are last checks of ended sessions
        return self.options.sessions * turns / seconds

    def report(self) -> int:
        """Measures and prints; the exit code."""
        table = Table(
            title=f"{self.options.sessions} sessions of {self.options.turns} turns, one worker process each"
        )
        for heading in (*COLUMNS, *MORE):
            table.add_column(heading, justify="left" if heading == "mode" else "right")
        self.bare_rate(width=1), self.turn_rate("round_robin")  # warm up
        worst = 1.0
        for mode in SHAPES:
            width = 1 if mode in ("round_robin", "pair", "orchestrated") else WIDTH
            pairs = [(self.bare_rate(width=width), self.turn_rate(mode)) for _ in range(self.options.repeat)]
            ratios = sorted(turns / bare for bare, turns in pairs)
            middle = statistics.median(ratios)
            worst = min(worst, middle)
            bare, turns = (statistics.median(column) for column in zip(*pairs, strict=True))
            leaner = self.bare_rate(width=width, leaner=True)
            last, archived = self.bare_rate(width=width), self.turn_rate(mode, archived=True)
            row = (f"{bare:.0f}", f"{turns:.0f}", f"{middle:.2f}", f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}")
            more = (f"{leaner:.0f}", f"{turns / leaner:.2f}", f"{archived:.0f}", f"{archived / last:.2f}")
            table.add_row(mode, *row, *more)
        Console(width=130).print(table)
        print(f"worst ratio: {worst:.2f}")
        return 0


def collab(mode: str, agents: dict[str, str]):
    from symposia.models.protocol.collab import Collab, Participant

    people = [Participant(participant_id=name) for name in agents]
    return Collab(title="bench", purpose="go fast", mode=mode, participants=people)


SHAPES = {
    "round_robin": (dict.fromkeys(("ann", "bob", "cyd", "dan"), "quiet"), lambda turns: {}),
    "pair": ({"driver": "quiet", "navigator": "reviewer"}, lambda turns: {}),
    "orchestrated": (
        {"orchestrator": "lead", "ann": "quiet", "bob": "quiet"},
        lambda turns: {"options": {"max_stalls": 100}},
    ),
    "broadcast": (dict.fromkeys(("ann", "bob", "cyd", "dan"), "quiet"), lambda turns: {}),
    "swarm": (
        dict.fromkeys(("ann", "bob", "cyd", "dan"), "quiet"),
        lambda turns: {
            "options": {"items": [{"text": f"item {n}"} for n in range(turns)], "max_items": turns}
        },
    ),
}


if __name__ == "__main__":
    sys.exit(main())
