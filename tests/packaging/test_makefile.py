"""The Makefile lists its targets and reports unmet requirements."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    # Run from `make test`, this is another make, not a part of that one.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", *arguments, *(f"{name}={value}" for name, value in variables.items())]
    return subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, check=False)


def test_help_lists_every_target() -> None:
    targets = set(re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    listed = make("help").stdout
    assert {"install", "demo", "test", "check", "bench", "soak"} <= targets
    assert set(re.findall(r"^ +\x1b\[1m(\S+) *\x1b\[0m", listed, re.MULTILINE)) == targets


def test_make_alone_is_help() -> None:
    assert make().stdout == make("help").stdout


def checkout(folder: Path) -> Path:
    """A checkout with the Makefile, and what it looks at, alone."""
    shutil.copy(ROOT / "Makefile", folder)
    for needed in ("pyproject.toml", "setup.py", "constraints.txt"):
        (folder / needed).touch()
    return folder


def test_make_reinstalls_if_the_requirements_change(tmp_path: Path) -> None:
    python = checkout(tmp_path) / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >> installs\n')
    python.chmod(0o700)

    assert make("install", folder=tmp_path).returncode == 0
    first = (tmp_path / "installs").read_text()
    assert "--constraint constraints.txt" in first
    make("install", folder=tmp_path)
    assert (tmp_path / "installs").read_text() == first

    later = (tmp_path / ".venv" / ".installed").stat().st_mtime + 1
    os.utime(tmp_path / "constraints.txt", (later, later))
    make("install", folder=tmp_path)
    assert (tmp_path / "installs").read_text() == first * 2


def test_an_old_python_is_refused_in_one_line(tmp_path: Path) -> None:
    refused = make("install", folder=checkout(tmp_path), PYTHON="")
    assert refused.returncode != 0
    assert "Symposia needs Python 3.11 or newer" in refused.stderr
    assert not (tmp_path / ".venv").exists()
