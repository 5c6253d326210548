"""Continuous integration runs failed tests once more, and passes if they pass alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scaling import patient

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
#: As the project's Makefile calls pytest, with only the plugins that matter here.
MAKEFILE = """
JOBS ?= {jobs}
export PYTEST_DISABLE_PLUGIN_AUTOLOAD = 1
test-all:
\t@{python} -m pytest -c pytest.ini -p xdist -p pytest_timeout --numprocesses=$(JOBS) --dist=loadgroup $(ARGS)
"""
#: Tests that fail, end their process, or stop at a time limit when they are run for the first time.
TESTS = """
import logging, os, time
from pathlib import Path
import pytest

def fail():
    logging.error("its report shows this record")
    raise AssertionError
def crash(): os._exit(3)
def hang(): time.sleep(600)
def nothing(): pass
ACTIONS = {actions}

@pytest.mark.xdist_group("all of them")
@pytest.mark.parametrize("number, first, later", [(n, *it) for n, it in enumerate(ACTIONS)])
def test_it(number, first, later):
    mark = Path(f"ran-{{number}}")
    ran = mark.exists()
    mark.touch()
    (later if ran else first)()
"""


def run_ci(folder: Path, actions: str, *, ini: str = "timeout = 20", jobs: int = 0) -> tuple[int, list[str]]:
    (folder / "Makefile").write_text(MAKEFILE.format(python=sys.executable, jobs=jobs))
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (folder / "test_some.py").write_text(TESTS.format(actions=actions))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "MAKE"))
    }
    command = [sys.executable, ROOT / ".ci" / "tests.py"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=patient(60)
    )
    return done.returncode, done.stdout.splitlines()


def after(heading: str, lines: list[str]) -> list[str]:
    return lines[lines.index(heading) + 1 :]


def test_passed_run_ends_with_the_line_of_pytest(tmp_path):
    code, lines = run_ci(tmp_path, "[(nothing, nothing)]")
    assert code == 0
    assert "1 passed in " in lines[-1]
    assert any("slowest" in it for it in lines)


def test_failures_that_pass_alone_are_flaky(tmp_path):
    actions = "[(fail, nothing), (crash, nothing), (hang, nothing), (nothing, fail)]"
    code, lines = run_ci(tmp_path, actions, ini="timeout = 3\ntimeout_method = thread", jobs=2)
    assert code == 0, lines
    *tests, closing = after("flaky (failed, and passed alone):", lines)
    assert [it.strip().partition("[")[2][:2] for it in tests] == ["0-", "1-", "2-"]
    assert closing.startswith("all tests: 3 failed, ")
    assert "; once more, alone: 3 passed in " in closing


def test_failure_that_fails_alone_fails_the_run(tmp_path):
    code, lines = run_ci(tmp_path, "[(fail, fail), (fail, nothing)]")
    assert (code, len(after("failed, and did not all pass alone:", lines))) == (1, 3)


@pytest.mark.parametrize(
    ("actions", "ini", "said"),
    [
        ("[(fail, nothing)] * 6", "timeout = 20", "6 tests failed; "),
        ("[(fail, nothing), (nothing, nothing)]", "addopts = --maxfail=1", "1 tests failed; "),
        ("undefined", "timeout = 20", "1 tests failed; "),
    ],
    ids=["too many", "stopped", "not collected"],
)
def test_other_failures_fail_the_run(tmp_path, actions, ini, said):
    code, lines = run_ci(tmp_path, actions, ini=ini)
    assert (code, lines[-1].startswith(said)) == (1, True), lines
    assert not any("once more, alone" in it for it in lines)


def test_tests_of_a_group_run_in_one_process(tmp_path):
    """pytest and pytest-xdist agree on where the name of a group is."""
    body = "@pytest.mark.xdist_group('one')\n@pytest.mark.parametrize('number', range(8))\n"
    body += "def test_it(number, worker_id):\n    open(worker_id, 'a').close()\n"
    (tmp_path / "test_some.py").write_text(f"import pytest\n\n{body}\ndef test_other(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "--dist=loadgroup", "-c", "pytest.ini"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=patient(60))
    assert len(list(tmp_path.glob("gw*"))) == 1
