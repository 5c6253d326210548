"""Pytest plugins: one runs tests on one mutant after another, one records which tests run which scripts.

Workers in processes of their own run the scripts as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from symposia.state.redis import scripts


class Ready(NamedTuple):
    """What is said before the first mutant: the tests that are used, and those that fail without a mutant."""

    tests: tuple[str, ...]
    failing: tuple[str, ...]


class Verdict(NamedTuple):
    """What is said of a mutant: the test that failed, if any.

    `is_certain`: the same test passed right after without the mutant.
    """

    killer: str | None
    is_certain: bool = True


class Mutants:
    """Runs the tests of a script on every text of it that arrives, until one fails.

    The tests are collected once, and their server runs on: a mutant costs what its tests take.

    Args:
        script: The script's name, without its suffix.
        tests: The tests, in the order in which they run.
        connection: Where texts come from, and answers go to.
        checked: The tests are known to pass without a mutant.
    """

    def __init__(self, script: str, tests: Sequence[str], connection: Connection, *, checked: bool) -> None:
        self._script, self._tests, self._connection = script, tests, connection
        self._are_checked = checked
        self._read = scripts._lua
        self._has_failed = False

    def pytest_collection(self) -> None:
        """Property tests try the same examples every time, and need not simplify what fails."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", deadline=None, database=None, derandomize=True, phases=phases)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Only the chosen tests, in their order; those that are there no longer are left out."""
        known = {item.nodeid: item for item in items}
        items[:] = [known[test] for test in self._tests if test in known]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print the tests in use, then answer for every text."""
        failing = [item for item in session.items if not (self._are_checked or self._passes(item))]
        tests = [item for item in session.items if item not in failing]
        self._connection.send(Ready(_names(tests), _names(failing)))
        while (text := self._connection.recv()) is not None:
            self._connection.send(self._verdict(tests, text))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes that a test has failed."""
        self._has_failed |= report.failed

    def _verdict(self, tests: list[pytest.Item], text: str) -> Verdict:
        self._plant(text)
        killer = next((item for item in tests if not self._passes(item)), None)
        self._plant(None)
        if killer is None:
            return Verdict(None)
        tests.remove(killer)  # what found this mutant is likely to find the next one
        tests.insert(0, killer)
        return Verdict(killer.nodeid, self._passes(killer))

    def _passes(self, item: pytest.Item) -> bool:
        self._has_failed = False
        # After each test all but what belongs to the session is torn down: any test may come next.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=item.session)
        return not self._has_failed

    def _plant(self, text: str | None) -> None:
        scripts._lua = lambda name: text if text and name == self._script else self._read(name)
        scripts.load_script.cache_clear()


def _names(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    return tuple(item.nodeid for item in items)


class Recorder:
    """Notes which scripts each test runs, and how long it takes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._test: str | None = None
        self._scripts: defaultdict[str, set[str]] = defaultdict(set)
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_configure(self) -> None:
        """Watches which scripts are read, also by threads."""
        read = scripts._lua

        def watched(name: str) -> str:
            if self._test:
                self._scripts[self._test].add(name)
            return read(name)

        scripts._lua = watched

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Make each test read its scripts again."""
        self._test = nodeid
        scripts.load_script.cache_clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test's time; one that fails is not used."""
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._scripts.pop(report.nodeid, None)

    def pytest_sessionfinish(self) -> None:
        """Sends what was noted: by test, its seconds and its scripts."""
        found = {test: [self._seconds[test], sorted(verbs)] for test, verbs in self._scripts.items()}
        self._connection.send(found)
