"""Runs tests on a mutant: which tests run a script, and whether one of them fails without a check of it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis  # noqa: F401 - it takes long to import, and every run needs it; so do the next ones
import pytest

import symposia.agents.llm_calls
import symposia.client
import symposia.workers.embedded  # noqa: F401
from mutants.mutator import Mutant
from mutants.names import MUTANT, RECORD

ROOT = Path(__file__).parents[3]
SUPPORT = ROOT / "tests" / "support"
LUA = ROOT / "state" / "lua"
#: Which tests run which scripts, as they were recorded last.
RECORDED = ROOT / ".pytest_cache" / "lua-calls.json"
#: Folders whose tests call scripts in their own process.
FOLDERS = ("state", "archive", "parked", "schedules", "memory", "limits", "reviews", "steering")

#: Failures need no details, and to rewrite assertions takes seconds.
_OPTIONS = [
    "-q",
    "-n0",
    "--assert=plain",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "-p",
    "mutants.plugin",
]
_PASSED, _FAILED, _NOT_FOUND = 0, 1, 4


def sound(script: str) -> Mutant:
    """A script as it is."""
    return Mutant(script, 0, "nothing", (LUA / f"{script}.lua").read_text())


def record(paths: Sequence[str] = ()) -> None:
    """Runs tests and records which scripts they run; without paths, all that may call one."""
    known = json.loads(RECORDED.read_text()) if paths and RECORDED.is_file() else {}
    RECORDED.parent.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        found = Path(folder) / "calls.json"
        chosen = paths or [f"tests/{name}" for name in FOLDERS]
        _pytest([*chosen, "-m", "not slow and not soak"], {RECORD: str(found)}, timeout_s=3600)
        RECORDED.write_text(json.dumps(known | json.loads(found.read_text()), indent=1))


def tests_of(script: str, *, seconds: float) -> list[str]:
    """The tests that run a script, the quickest first, as many as take `seconds` together."""
    calls = json.loads(RECORDED.read_text())
    every = sorted((took, test) for test, (took, verbs) in calls.items() if script in {*verbs, "_lib"})
    chosen, total = [], 0.0
    for took, test in every:
        total += took
        if chosen and total > seconds:
            break
        chosen.append(test)
    return chosen


def survives(mutant: Mutant, tests: Sequence[str], *, timeout_s: float) -> bool:
    """Whether all tests pass with the mutant in the place of its script; one that takes too long has failed."""
    with TemporaryDirectory() as folder:
        planted, chosen = Path(folder) / "mutant.json", Path(folder) / "tests"
        planted.write_text(json.dumps({"script": mutant.script, "text": mutant.text}))
        chosen.write_text("\n".join(tests))
        code = _pytest(["-x", f"@{chosen}"], {MUTANT: str(planted)}, timeout_s=timeout_s)
    if code == _NOT_FOUND:
        raise SystemExit("tests have changed since they were recorded: run again with --record")
    return code == _PASSED


def _pytest(args: Sequence[str], env: dict[str, str], *, timeout_s: float) -> int:
    """Runs pytest in a process that is forked from this one, which has imported what takes time to import."""
    child = multiprocessing.get_context("fork").Process(target=_run, args=([*_OPTIONS, *args], env))
    child.start()
    child.join(timeout_s)
    if child.exitcode is None:
        os.kill(child.pid or 0, signal.SIGINT)  # pytest ends its servers
        child.join(30)
        return _FAILED
    return child.exitcode


def _run(args: list[str], env: dict[str, str]) -> None:
    os.environ.update(env, PYTHONPATH=str(SUPPORT))
    os.chdir(ROOT)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.exit(pytest.main(args))
