"""Reviewers for batch reviews on real workers. They write down every call in the worker's folder."""

from __future__ import annotations

import json
import time
from pathlib import Path

from scaling import patient
from symposia.models.turns.turn import TurnContext, TurnOutcome, Usage


def path_of(turn: TurnContext) -> str:
    """The path of the reviewed file."""
    told = turn.parameters["review"]
    assert isinstance(told, dict)
    return str(told["path"])


def _note(turn: TurnContext) -> None:
    with Path("calls.txt").open("a") as log:
        log.write(f"{path_of(turn)}\n")


def _found(line: int) -> str:
    finding = {"line": line, "rule": "T1", "severity": "high", "message": "found by a test"}
    return json.dumps({"findings": [finding], "summary": f"one in line {line}"})


def finds(turn: TurnContext) -> str:
    """Finds something in line 1."""
    _note(turn)
    return _found(1)


def gated(turn: TurnContext) -> str:
    """The same, once the file `gate` is there; waits a minute at most."""
    _note(turn)
    _wait()
    return _found(1)


def holds(turn: TurnContext) -> str:
    """The same, which waits only with what has `held` in its path."""
    _note(turn)
    if "held" in path_of(turn):
        _wait()
    return _found(1)


def _wait() -> None:
    deadline = time.monotonic() + patient(60)
    while not Path("gate").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def fails(turn: TurnContext) -> str:
    """Fails for a path with `bad` in it while the file `repaired` is not there."""
    _note(turn)
    if "bad" in path_of(turn) and not Path("repaired").exists():
        raise RuntimeError("cannot read this")
    return _found(1)


def spends(turn: TurnContext) -> TurnOutcome:
    """Finds something, for a hundred tokens."""
    _note(turn)
    return TurnOutcome.say(_found(1), usage=Usage(input_tokens=60, output_tokens=40, requests=1))
