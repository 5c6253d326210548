"""Runs tests in processes of their own: on the mutants of a script, or to record which tests run which scripts."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

import hypothesis  # noqa: F401 - it takes long to import, and every run needs it; so do the next ones
import psutil
import pytest

import symposia.agents.llm.calls
import symposia.client
import symposia.client.embedded  # noqa: F401
from mutants.plugin import Mutants, Ready, Recorder, Verdict
from scaling import patient

ROOT = Path(__file__).parents[3]
SUPPORT = ROOT / "tests" / "support"
LUA = ROOT / "state" / "lua"
#: Where it is recorded which tests run which scripts.
RECORDED = ROOT / ".pytest_cache" / "lua-calls.json"
#: Folders whose tests call scripts in their own process.
FOLDERS = (
    "state",
    "archive",
    "memory",
    "schedules",
    "tasks/waiting",
    "reviews",
    "workers/beat",
    "limits",
    "steering",
)

#: Failures need no details, and to rewrite assertions takes seconds.
_OPTIONS = ["-q", "-n0", "--assert=plain", "--tb=no", "-p", "no:randomly", "-p", "no:cacheprovider"]

#: Exit codes of pytest after it has run the tests, whether or not all have passed.
_RAN = {0, 1}


def record(file: Path, paths: Sequence[str] = ()) -> None:
    """Runs tests and records which scripts they run; without paths, all that may call one."""
    known = json.loads(file.read_text()) if paths and file.is_file() else {}
    file.parent.mkdir(exist_ok=True)
    chosen = list(paths) or [f"tests/{name}" for name in FOLDERS]
    child, connection = _start(chosen, Recorder)
    found = connection.recv()
    child.join()
    if child.exitcode not in _RAN:
        raise SystemExit(f"the tests cannot be recorded; run them with pytest: {' '.join(chosen)}")
    file.write_text(json.dumps(known | found, indent=1))


def script_names() -> list[str]:
    """The names of all scripts and library modules: their paths below `state/lua`, without the suffix."""
    return sorted(file.relative_to(LUA).with_suffix("").as_posix() for file in LUA.rglob("*.lua"))


def text_of(script: str) -> str:
    """The text of a script or a library module."""
    return (LUA / f"{script}.lua").read_text()


def tests_of(script: str, file: Path, *, seconds: float) -> list[str]:
    """The recorded tests that run a script, the quickest first, as many as take `seconds` together."""
    calls = json.loads(file.read_text())
    every = sorted((took, test) for test, (took, verbs) in calls.items() if script in verbs)
    chosen, total = [], 0.0
    for took, test in every:
        total += took
        if chosen and total > seconds:
            break
        chosen.append(test)
    return chosen


class Bench:
    """The tests of a script in a process that has them ready, to run on one mutant after another.

    Args:
        script: The script's name, without its suffix.
        tests: The tests, in the order in which they run.
        timeout_s: A mutant whose tests take longer is killed.
    """

    def __init__(self, script: str, tests: Sequence[str], *, timeout_s: float) -> None:
        self._script, self._timeout_s = script, timeout_s
        self.tests = tuple(tests)
        self.failing: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        self._begin(checked=False)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(OSError):
            self._connection.send(None)
        self._child.join(patient(30))
        self._end()

    def killer(self, text: str) -> str | None:
        """The first test that fails with `text` in the place of the script, or `timeout`; None: the text survives."""
        verdict = self._ask(text)
        if not verdict.is_certain:
            # The process may have been spoilt by an earlier mutant: the test counts if it fails in a new one, too.
            self._restart(first=verdict.killer)
            verdict = self._ask(text)
        if not verdict.is_certain:
            self._restart(first=verdict.killer)
        return verdict.killer

    def _ask(self, text: str) -> Verdict:
        try:
            self._connection.send(text)
            if self._connection.poll(self._timeout_s):
                answer: Verdict = self._connection.recv()
                return answer
        except (EOFError, OSError):
            return Verdict("the process of the tests ended", is_certain=False)
        self._restart(first=None)
        return Verdict("timeout")

    def _restart(self, *, first: str | None) -> None:
        self.tests = tuple(sorted(self.tests, key=lambda test: test != first))
        self._end()
        self._begin(checked=True)

    def _begin(self, *, checked: bool) -> None:
        # Sorted: pytest lets a fixture of a folder replace that of a subfolder if it reads the folder's files apart.
        files = sorted({test.partition("::")[0] for test in self.tests})
        chosen = [*_existing(files), "--timeout=20", "-m", ""]
        plugin = partial(Mutants, self._script, self.tests, checked=checked)
        self._child, self._connection = _start(chosen, plugin)
        try:
            ready: Ready = self._connection.recv()
        except EOFError:
            raise SystemExit(
                f"the tests of {self._script} cannot be collected; run them with pytest"
            ) from None
        self.tests, self.failing = ready.tests, (*self.failing, *ready.failing)

    def _end(self) -> None:
        started = psutil.Process(self._child.pid).children(recursive=True) if self._child.is_alive() else []
        if self._child.is_alive():
            os.kill(self._child.pid or 0, signal.SIGINT)  # pytest ends its servers
            self._child.join(patient(30))
        if self._child.is_alive():
            self._child.kill()
            self._child.join()
        for process in started:  # a server whose script never ends does not end by itself
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._connection.close()


def _existing(files: Iterable[str]) -> list[str]:
    return [file for file in files if (ROOT / file).is_file()]


def _start(
    args: list[str], plugin: Callable[[Connection], object]
) -> tuple[multiprocessing.Process, Connection]:
    """Runs pytest in a process that is forked from this one, which has imported what takes time to import.

    Answers the process, and the end of a connection whose other end `plugin` is given.
    """
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=_run, args=([*_OPTIONS, *args], plugin, ours, theirs)
    )
    child.start()
    theirs.close()
    return child, ours


def _run(
    args: list[str], plugin: Callable[[Connection], object], ours: Connection, theirs: Connection
) -> None:
    ours.close()  # each process has one end only, so that it notices when the other process has ended
    os.environ.update(PYTHONPATH=str(SUPPORT))
    os.chdir(ROOT)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.exit(pytest.main(args, plugins=[plugin(theirs)]))
