"""Agents in a process that uses Django's database: lost connections, and blocking calls of asynchronous agents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from programs import find_frameworks
from scaling import patient
from servers.postgres import MISSING, own_postgres, programs


@pytest.fixture
def frameworks() -> Path:
    return find_frameworks()


def run(folder: Path, frameworks: Path, program: str, *arguments: str) -> list[str]:
    """Run a program, and return its lines."""
    ended = subprocess.run(
        [sys.executable, "-m", f"processes.{program}", *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ":".join(filter(None, [*sys.path, str(frameworks)]))},
        capture_output=True,
        text=True,
        timeout=patient(90),
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # The first query of a thread finds out that its connection is lost.
        ("sync", ["4", "5", "5"]),
        # Each turn has a connection of its own.
        ("async", ["4", "4", "4"]),
    ],
)
def test_lost_connections_fail_no_later_session(
    tmp_path: Path, frameworks: Path, kind: str, expected: list[str]
) -> None:
    if (bin_folder := programs()) is None:
        pytest.skip(MISSING)
    with own_postgres(bin_folder) as server:
        lines = run(tmp_path, frameworks, "django_database", server.url, kind)
    reasons, calls = zip(*map(str.split, lines), strict=True)
    assert reasons == ("max_turns",) * 3
    assert list(calls) == expected


def test_blocking_calls_of_two_turns_run_at_the_same_time(tmp_path: Path, frameworks: Path) -> None:
    lines = run(tmp_path, frameworks, "django_threads", str(tmp_path / "database.sqlite3"))
    assert lines == ["max_turns", "max_turns", "4 connections closed"]
