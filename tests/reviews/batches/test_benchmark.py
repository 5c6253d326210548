"""The benchmark of batches measures real ones, and leaves nothing running."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import symposia
from scaling import patient

PROGRAM = Path(symposia.__file__).parent / "benchmarks" / "reviews.py"


@pytest.mark.long
@pytest.mark.timeout(150)
def test_benchmark_prints_items_and_sessions(tmp_path: Path):
    command = [sys.executable, str(PROGRAM), "--items", "3", "--repeat", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=patient(140), check=False
    )
    assert done.returncode == 0, done.stderr
    line = r"3 items: [\d.]+ items/s, bare sessions [\d.]+/s, ratio \(median\) [\d.]+\n"
    assert re.fullmatch(line, done.stdout), done.stdout
    assert list(tmp_path.iterdir()) == []
