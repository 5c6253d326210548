"""The benchmarks of single parts, each a program of its own that prints its figures; some add rows to the table."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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


#: Programs that also write figures for the table: name -> value, unit, bound.
WITH_FIGURES = ("dashboard",)


def _program(name: str) -> Run:
    def run(bench: Bench) -> Iterator[Measure]:
        bench.stage.leave()
        print(f"--- {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            figures = Path(folder) / "figures.json"
            command = [sys.executable, str(FOLDER / f"{FILES.get(name, name)}.py")]
            command += [f"--json={figures}"] if name in WITH_FIGURES else []
            if code := subprocess.run(command, check=False).returncode:
                raise BenchmarkError(f"{name} ended with exit code {code}")
            for what, (value, unit, _) in json.loads(
                figures.read_text() if figures.exists() else "{}"
            ).items():
                yield bench.exact(what, unit, value)

    run.__doc__ = PROGRAMS[name]
    return run


for _name in PROGRAMS:
    case(_name, short=False, program=True)(_program(_name))
