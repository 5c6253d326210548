"""Tests do not depend on the speed of the machine: their deadlines scale with one factor, and no test asserts a duration."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: Calls that wait, and do not scale their deadline.
WAITS = {"acquire", "communicate", "join", "result", "wait"}
#: Clocks of `time`.
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
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


def reads_a_clock(tree: ast.AST) -> bool:
    calls = [it.func for it in ast.walk(tree) if isinstance(it, ast.Call)]
    return any(isinstance(it, ast.Attribute) and it.attr in CLOCKS for it in calls)


def timed(code: str) -> Iterator[int]:
    """The lines of assertions that a duration, the difference to a clock, is less than something."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Assert):
            continue
        for it in (it for it in ast.walk(node.test) if isinstance(it, ast.Compare)):
            differs = any(isinstance(part, ast.BinOp) and reads_a_clock(part) for part in ast.walk(it))
            if differs and any(isinstance(operator, ast.Lt | ast.LtE) for operator in it.ops):
                yield node.lineno


@pytest.mark.parametrize("rule", [unscaled, timed])
def test_tests_do_not_depend_on_speed(rule: Callable[[str], Iterator[int]]) -> None:
    found = {file: list(rule(file.read_text())) for file in TESTS.rglob("*.py")}
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


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("assert time.monotonic() - began < 5", [1]),
        ("assert min(time.thread_time() - it for it in starts) < patient(5)", [1]),
        ("assert time.monotonic() - began >= 1", []),
        ("assert time.monotonic() < deadline", []),
    ],
)
def test_asserted_durations_are_found(code: str, lines: list[int]) -> None:
    assert list(timed(code)) == lines
