"""The benchmarks of single parts, each a program of its own that prints its figures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from harness.errors import BenchmarkError
from harness.registry import Bench, Run, case
from harness.results import Measure
from harness.stage import FOLDER

PROGRAMS = {
    "memory": "Dialog memories a second.",
    "archive-sql": "Writing, listing and searching 100,000 archived messages.",
    "conversations": "Pages of conversations at 100,000 messages.",
    "reviews": "Items a second of a batch review.",
    "metrics": "Cost of counting for monitoring.",
    "dashboard": "Flower's pages, and how late they see a change.",
    "startup": "CPU seconds of commands that read, and of the start of a worker.",
}
FILES = {"archive-sql": "archive"}


def _program(name: str) -> Run:
    def run(bench: Bench) -> Iterator[Measure]:
        path = FOLDER / f"{FILES.get(name, name)}.py"
        bench.stage.leave()
        print(f"--- {name}", flush=True)
        if code := subprocess.run([sys.executable, str(path)], check=False).returncode:
            raise BenchmarkError(f"{name} ended with exit code {code}")
        yield from ()

    run.__doc__ = PROGRAMS[name]
    return run


for _name in PROGRAMS:
    case(_name, short=False, program=True)(_program(_name))
