"""Deadlines of tests scale with one factor, for slow machines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: Calls that wait, and do not scale their deadline.
WAITS = {"acquire", "communicate", "join", "result", "wait"}
#: Shorter times than this many seconds are what a test is about.
SHORTEST_S = 5


def waits(called: ast.expr) -> bool:
    if not isinstance(called, ast.Attribute):
        return False
    return called.attr in WAITS or (called.attr == "run" and ast.unparse(called.value) == "subprocess")


def unscaled(code: str) -> Iterator[int]:
    """The lines of calls that wait for a number of seconds, as written."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and waits(node.func):
            deadlines = [it.value for it in node.keywords if it.arg in ("timeout", "timeout_s")]
            for it in [*deadlines, *node.args[:1]]:
                is_number = isinstance(it, ast.Constant) and type(it.value) in (int, float)
                if is_number and it.value >= SHORTEST_S:
                    yield node.lineno


def test_deadlines_are_scaled() -> None:
    found = {file: list(unscaled(file.read_text())) for file in TESTS.rglob("*.py")}
    assert {file.relative_to(TESTS).as_posix(): lines for file, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("job.result(timeout=40)", [1]),
        ("\nthread.join(5)", [2]),
        ("subprocess.run(command, timeout=50)", [1]),
        ("job.result(timeout=patient(40))", []),
        ("job.result(timeout=0.1)", []),
        ("terminal.run('doctor', timeout_s=140)", []),
    ],
)
def test_unscaled_deadlines_are_found(code: str, lines: list[int]) -> None:
    assert list(unscaled(code)) == lines
