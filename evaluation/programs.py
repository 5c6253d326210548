"""Scorers that are programs: they run where the evaluation was started, without a shell.

A program gets the run as JSON on standard input, and prints a number between 0 and 1, or
`{"score": 0.5, "reason": "..."}`. Its working folder is that of the cases file; it gets PATH, HOME, the
locale, the time zone, and the variables that the scorer names in `env`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import SubprocessError
from threading import Event

from pydantic import JsonValue

from ..agents.execution.failures import scrub_text
from ..agents.kinds.command import USUAL_VARIABLES
from ..agents.programs.process import Program, ProgramResult, run_program
from ..models.text.json_text import dump_json, parse_json
from .cases import PlannedRun
from .checks import Answer
from .results import ScoreResult
from .scorers import Scorer

#: Maximum bytes that a program may print.
MAX_OUTPUT_BYTES = 65_536
#: Seconds between two looks at whether the evaluation is stopped.
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class ProgramScorer:
    """Runs the programs of an evaluation."""

    folder: Path
    read_variable: Callable[[str], str | None]
    #: Set when the evaluation is stopped; programs that are running are killed then.
    stopped: Event = field(default_factory=Event)

    def score(self, scorer: Scorer, run: PlannedRun, answer: Answer) -> ScoreResult:
        """Run a program, and return the score that it prints; without score if it fails.

        Must not be called in a thread with an event loop.
        """
        try:
            return asyncio.run(self._run(scorer, dump_json(_input(run, answer)).encode()))
        except TimeoutError:
            return _failed(scorer, f"did not end within {scorer.timeout_s:g} s")
        except (OSError, SubprocessError) as error:
            return _failed(scorer, f"cannot be run: {error}")

    async def _run(self, scorer: Scorer, given: bytes) -> ScoreResult:
        names = (*USUAL_VARIABLES, "HOME", *scorer.env)
        program = Program(
            argv=scorer.program or (),
            folder=self.folder,
            environment={name: value for name in names if (value := self.read_variable(name)) is not None},
            limits={},
            limit_bytes=MAX_OUTPUT_BYTES,
        )
        async with asyncio.timeout(scorer.timeout_s):
            running = asyncio.ensure_future(run_program(program, given))
            try:
                while not (await asyncio.wait({running}, timeout=_LOOK_EVERY_S))[0]:
                    if self.stopped.is_set():
                        return _failed(scorer, "was killed, because the evaluation was stopped")
                return read_score(scorer, running.result())
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError, OSError, SubprocessError):
                    await running


def read_score(scorer: Scorer, printed: ProgramResult) -> ScoreResult:
    """Return the score that a program printed; without score if it failed or printed anything else."""
    if printed.over_limit:
        return _failed(scorer, f"printed more than {MAX_OUTPUT_BYTES} bytes")
    if printed.code:
        last = printed.err.decode(errors="replace").strip().rpartition("\n")[2]
        return _failed(scorer, f"failed with exit code {printed.code}" + (f": {last}" if last else ""))
    try:
        data: JsonValue = parse_json(printed.out.decode())
    except ValueError:
        data = None
    score, reason = (data.get("score"), data.get("reason", "")) if isinstance(data, dict) else (data, "")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return _failed(scorer, "must print a number from 0 to 1, or a JSON object with `score` and `reason`")
    # JSON may have lone surrogates, which no report can contain.
    return ScoreResult(scorer.label, float(score), str(reason).encode("utf-8", "replace").decode())


def _input(run: PlannedRun, answer: Answer) -> dict[str, JsonValue]:
    return {
        "case": run.case_name,
        "variant": run.variant,
        "repeat": run.repeat,
        "session": run.session_id,
        "message": run.case.message,
        "inputs": dict(run.inputs),
        "expect": run.case.expect,
        "answer": answer.text,
        "output": answer.output,
    }


def _failed(scorer: Scorer, error: str) -> ScoreResult:
    return ScoreResult(scorer.label, None, f"program {(scorer.program or ('',))[0]} {scrub_text(error)}")
