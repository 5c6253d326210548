"""A pytest plugin that plants a mutant in the scripts of its process, or records which tests run which scripts.

Workers in processes of their own run the scripts as they are.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mutants.names import MUTANT, RECORD
from symposia.state import scripts

_called: defaultdict[str, set[str]] = defaultdict(set)
_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_configure() -> None:
    """Plants the mutant, or begins to record."""
    if path := os.environ.get(MUTANT):
        _plant(**json.loads(Path(path).read_text()))
    if os.environ.get(RECORD):
        _watch()


def _plant(script: str, text: str) -> None:
    sound = scripts._lua
    scripts._lua = lambda name: text if name == script else sound(name)
    scripts.load.cache_clear()


def _watch() -> None:
    evaluated = scripts._evaluated

    def watched(client: Any, script: scripts.Script, *rest: Any) -> Any:
        if test := os.environ.get("PYTEST_CURRENT_TEST"):
            _called[test.rpartition(" (")[0]].add(script.verb)
        return evaluated(client, script, *rest)

    scripts._evaluated = watched


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts a test's time; one that fails is not used."""
    _seconds[report.nodeid] += report.duration
    if not report.passed:
        _called.pop(report.nodeid, None)


def pytest_sessionfinish() -> None:
    """Writes what was recorded."""
    if path := os.environ.get(RECORD):
        found = {test: [_seconds[test], sorted(verbs)] for test, verbs in _called.items()}
        Path(path).write_text(json.dumps(found, indent=1))
