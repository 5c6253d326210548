"""The benchmark suite runs every case and counts what it ran; it is not about speed."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import symposia
from scaling import patient

ROOT = Path(symposia.__file__).parent
PROGRAM = ROOT / "benchmarks" / "run.py"
#: Cases that use the first workers, in the order of the list.
COMMON = (
    "modes",
    "alone",
    "latency",
    "transport",
    "length",
    "participants",
    "broadcast",
    "board",
    "follow",
    "viewers",
    "prompts",
    "review_requests",
    "submit",
    "bytes",
    "session_step",
)
#: Cases that start workers of their own.
WITH_WORKERS = ("parked", "sweep", "archiving", "prefork", "processes", "waiting", "fairness")
#: Values that do not depend on the speed of the machine, and have no bare side.
EXACT = {
    ("bytes", "bytes"),
    *(("review_requests", unit) for unit in ("tokens", "% of its diff", "% identical", "items again")),
    ("session_step", "tasks"),
    ("parked", "bytes"),
    ("parked", "% of turns/s"),
    *(
        ("prompts", unit)
        for unit in ("% identical", "% cached", "% of the cost without a cache", "kB sent a turn")
    ),
}


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load("results")


def load(name: str) -> ModuleType:
    """Load a module of the harness that needs no other of its modules."""
    spec = importlib.util.spec_from_file_location(
        f"benchmark_{name}", ROOT / "benchmarks" / "harness" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_ratio_is_the_median_of_the_pairs(results: ModuleType):
    measure = results.Measure("modes", "pair", "turns/s", (100.0, 90.0, 300.0), (200.0, 100.0, 200.0))
    assert measure.ratio == results.Spread(0.9, 0.5, 1.5)


def test_percentiles_are_values_that_occurred(results: ModuleType):
    values = [float(it) for it in range(1, 101)]
    assert [results.percentile(values, it) for it in (50, 95, 99, 100)] == [50.0, 95.0, 99.0, 100.0]
    assert results.percentile([7.0], 99) == 7.0


@pytest.mark.parametrize(
    ("before", "now", "more_is_better", "verdict"),
    [
        ((50.0, 60.0), (100.0, 110.0), True, "better"),
        ((50.0, 60.0), (100.0, 110.0), False, "worse"),
        ((50.0, 60.0), (30.0, 40.0), True, "worse"),
        ((50.0, 60.0), (59.0, 90.0), True, "same"),
    ],
)
def test_change_needs_ratios_that_do_not_overlap(
    results: ModuleType,
    before: tuple[float, ...],
    now: tuple[float, ...],
    more_is_better: bool,
    verdict: str,
):
    earlier, later = (
        results.Results(
            "short", {}, [results.Measure("c", "m", "turns/s", it, (factor, factor), more_is_better)]
        )
        for it, factor in ((before, 1.0), (tuple(value * 4 for value in now), 4.0))
    )
    (change,) = results.compare(later, results.Results.from_json_data(earlier.to_json_data()))
    assert change.verdict == verdict


def test_results_of_another_format_are_refused(results: ModuleType):
    with pytest.raises(ValueError, match="format 0"):
        results.Results.from_json_data({"format": 0})


def run(folder: Path, *arguments: str) -> str:
    """Run the suite with tiny sizes; return its output."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--size", "tiny", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=patient(280),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_measures(saved: str, names: tuple[str, ...]) -> None:
    assert socket.gethostname() not in saved
    assert str(ROOT) not in saved
    data = json.loads(saved)
    assert list(dict.fromkeys(it["case"] for it in data["measures"])) == list(names)
    assert data["skipped"] == {}
    for it in data["measures"]:
        is_exact = (it["case"], it["unit"]) in EXACT
        assert (len(it["ours"]), len(it["bare"])) == (1, 0 if is_exact else 1), it
        assert it["ours"][0] >= 0 or it["unit"] == "% of turns/s", it


@pytest.mark.long
@pytest.mark.timeout(300)
def test_cases_with_own_workers_yield_measures(tmp_path: Path):
    run(tmp_path, "--only", *WITH_WORKERS, "--save", "now.json")
    assert [it.name for it in tmp_path.iterdir()] == ["now.json"]
    check_measures((tmp_path / "now.json").read_text(), WITH_WORKERS)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_common_cases_yield_measures_and_a_baseline(tmp_path: Path):
    """A comparison with the baseline lists each measure once."""
    run(tmp_path, "--only", *COMMON, "--save", "before.json", "--markdown", "table.md")
    saved = (tmp_path / "before.json").read_text()
    check_measures(saved, COMMON)
    table = (tmp_path / "table.md").read_text()
    rows = re.findall(rf"^\| (?:{'|'.join(COMMON)}) \|", table, re.MULTILINE)
    assert len(rows) == len(json.loads(saved)["measures"])
    shown = run(tmp_path, "--only", "submit", "bytes", "--baseline", "before.json")
    changes = shown.partition("compared with the baseline")[2]
    assert len(re.findall(r"^│ (?:bytes|submit) ", changes, re.MULTILINE)) == 7


def test_long_sessions_keep_the_beginning_of_their_requests() -> None:
    prompts = load("prompts")
    figures = prompts.count(prompts.record_requests("round_robin", 200, 32_000))
    assert figures.shared_percent >= 90
    assert figures.read_percent >= 88
    assert figures.appending_percent <= 110


def test_window_of_messages_does_not_slide() -> None:
    prompts = load("prompts")
    figures = prompts.count(prompts.record_requests("round_robin", 150, 10**6, window=100))
    assert figures.shared_percent >= 90


@pytest.mark.long
def test_documentation_lists_every_case(tmp_path: Path):
    listed = [line.split()[0] for line in run(tmp_path, "--list").splitlines()]
    section = (ROOT / "docs" / "performance.md").read_text().partition("## What is measured")[2]
    shown = re.findall(r"^\| `([\w-]+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    assert shown == listed


def test_walk_counts_the_modules_of_a_submit_and_of_each_turn() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "walk.py"],
        capture_output=True,
        text=True,
        check=True,
        timeout=patient(50),
    )
    counts = re.findall(
        r"^(submit|turn \d) +(\d+) modules, entered again (\d+) times$", done.stdout, re.MULTILINE
    )
    assert [name for name, *_ in counts] == ["submit", *(f"turn {n}" for n in range(1, 7))]
    assert all(int(modules) > 10 and int(again) > 10 for _, modules, again in counts)
