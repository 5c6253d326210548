"""The benchmark of the dashboard opens streams and polling pages, loses no change, and prints figures and bounds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import symposia
from scaling import patient

PROGRAM = Path(symposia.__file__).parent / "benchmarks" / "dashboard.py"
SMALL = (
    "--archived=5",
    "--live=15",
    "--clients=2",
    "--browsers=1",
    "--sessions=2",
    "--seconds=1",
    "--minutes=0.2",
)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_benchmark_loses_no_change(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *SMALL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=patient(200),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = re.findall(r"(\d+) (\D+?) +lost (\d+) of (\d+) \(bound 0: kept\), p50", done.stdout)
    assert pages == [
        ("5", "streams of the list", "0", "50"),
        ("9", "polling pages of the list", "0", "90"),
        ("2", "streams of a session", "0", "2"),
    ], done.stdout
    assert re.search(r"Flower used [\d.]+ cores \(bound 0.5: (kept|EXCEEDED)\)", done.stdout)
    assert len(re.findall(r"p95 \d+ ms \(bound (?:100|1000|2000): ", done.stdout)) == 3
    figures = re.findall(r"^(\S.+?) {2,}([\d.]+) +(s|cores|MiB) +(?:\(bound|$)", done.stdout, re.MULTILINE)
    assert [name for name, _, _ in figures] == [
        "slowest page",
        "median of the lists",
        "CPU of Flower for a list",
        "most CPU of Flower for a page",
        "Flower with 12 tabs",
        "memory of Flower",
    ]
    assert list(tmp_path.iterdir()) == []
