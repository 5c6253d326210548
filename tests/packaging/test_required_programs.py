"""Continuous integration does not skip the tests that need programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import programs
from scaling import patient

ROOT = Path(__file__).parents[2]
#: The targets of `make`, replaced by what they would run with.
MAKE = '#!/bin/sh\necho "$1: $SYMPOSIA_TEST_REQUIRED"\n'


def test_missing_program_skips_unless_it_is_required(monkeypatch):
    with pytest.raises(pytest.skip.Exception, match="needs no-such-program: make debian-packages"):
        programs.find_program("no-such-program", "nor-this")
    monkeypatch.setattr(programs, "REQUIRED", frozenset({"no-such-program"}))
    with pytest.raises(pytest.fail.Exception, match="needs no-such-program"):
        programs.find_program("no-such-program", "nor-this")
    assert programs.find_program("no-such-program", "sh").endswith("/sh")


def test_ci_requires_the_programs_of_tests(tmp_path):
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o700)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [str(ROOT / ".ci" / "run")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=patient(30)
    )
    assert (
        "test-all: chromium codespell compose-schema docs-tools eslint frameworks keda-schema openapi-typescript promtool sarif-schema shellcheck tsc"
        in done.stdout.splitlines()
    )


@pytest.mark.long
def test_required_program_fails_a_real_test(tmp_path):
    """The setting reaches the processes that run the tests."""
    target = "tests/packaging/monitoring/test_monitoring_files.py::test_promtool_accepts_the_rules"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", target]
    environment = {**os.environ, "PATH": str(tmp_path), "SYMPOSIA_TEST_REQUIRED": "promtool"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=patient(60)
    )
    assert (done.returncode, "needs promtool" in done.stdout) == (1, True)
