"""Scores of an answer: by checks, by programs, and by judges.

A program runs where the evaluation was started, without a shell. It gets the run as JSON on standard input, and prints
a number between 0 and 1, or `{"score": 0.5, "reason": "..."}`. Its working folder is that of the cases file; it gets
PATH, HOME, the locale, the time zone, and the variables that the scorer names in `env`. A judge is a session of one
turn, whose output is a score and its reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import SubprocessError
from threading import Event
from typing import Any

from pydantic import JsonValue

from ..agents.execution.failures import scrub_text
from ..agents.kinds.command import USUAL_VARIABLES
from ..agents.programs.process import Program, ProgramResult, run_program
from ..jobs.result import JobResult
from ..models.sessions.inputs import render_value
from ..models.sessions.submission import Submission
from ..models.text.ids import derived_id
from ..models.text.json_text import dump_json, parse_json
from ..models.text.patterns import matches
from .cases import Case, PlannedRun
from .results import ScoreResult
from .scorers import EXPECT, Scorer, ScorerKind


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a session: the text of its last message, and its output if it has one."""

    text: str
    output: JsonValue = None

    @property
    def value(self) -> JsonValue:
        """The output; without one, the text as JSON if it is JSON, else the text."""
        if self.output is not None:
            return self.output
        try:
            return parse_json(self.text)  # type: ignore[no-any-return]
        except ValueError:
            return self.text


def check_answer(scorer: Scorer, case: Case, answer: Answer) -> ScoreResult:
    """Return the score of a check: 1 if the answer passes, else 0."""
    try:
        value: Any = _field(answer.value, scorer.field) if scorer.field else None
    except LookupError:
        return ScoreResult(scorer.label, 0.0, f"the answer has no field {scorer.field!r}")
    match scorer.kind:
        case ScorerKind.EQUALS:
            wanted = case.expect if scorer.equals == EXPECT else scorer.equals
            passes = _is_equal(value if scorer.field else answer, wanted)
        case ScorerKind.CONTAINS:
            text = (scorer.contains or "").replace(EXPECT, text_of(case.expect))
            passes, wanted = text in _checked_text(scorer, answer, value), text
        case _:
            wanted = scorer.regex
            passes = matches(scorer.regex or "", _checked_text(scorer, answer, value))
    return ScoreResult(
        scorer.label, float(passes), "" if passes else f"not {scorer.kind}: {text_of(wanted)[:200]}"
    )


def _checked_text(scorer: Scorer, answer: Answer, value: Any) -> str:
    return text_of(value) if scorer.field else answer.text


def _is_equal(actual: Any, wanted: JsonValue) -> bool:
    """Compare JSON data, in which `true` is not 1; a text is also compared with the whole answer."""
    if isinstance(actual, Answer):
        if isinstance(wanted, str) and actual.text.strip() == wanted.strip():
            return True
        actual = actual.value
    return dump_json(_comparable(actual)) == dump_json(_comparable(wanted))


def _comparable(data: Any) -> Any:
    """Return data with keys in order, in which equal numbers are written alike."""
    if isinstance(data, dict):
        return {name: _comparable(data[name]) for name in sorted(data)}
    if isinstance(data, list):
        return [_comparable(item) for item in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _field(value: Any, path: str) -> Any:
    for step in path.split("."):
        if isinstance(value, dict):
            value = value[step]
        elif isinstance(value, list) and step.isdecimal():
            value = value[int(step)]
        else:
            raise LookupError(step)
    return value


def text_of(value: JsonValue) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else dump_json(value)


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


#: JSON schema of the output of a judge.
_VERDICT = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 1, "description": "0 is worst, 1 is best"},
        "reason": {"type": "string", "description": "one sentence"},
    },
    "required": ["score", "reason"],
}
_JUDGE = "judge"


def judge_submission(scorer: Scorer, run: PlannedRun, answer: str) -> Submission:
    """Return the session in which a judge scores the answer of a run. Its id follows from its content."""
    assert scorer.judge is not None  # noqa: S101 - callers choose by kind  # nosec B101
    parts = [] if run.case.message is None else [f"Task:\n{run.case.message}"]
    if run.inputs:
        values = (f"{name}: {render_value(value)}" for name, value in run.inputs.items())
        parts.append("\n".join(["Inputs of the task:", *values]))
    if run.case.has_expect:
        parts.append(f"Expected:\n{text_of(run.case.expect)}")
    parts.append(f"Answer:\n{answer or '(no answer)'}")
    agent = scorer.judge.model_dump(mode="json", exclude_defaults=True)
    identity = dump_json([run.session_id, agent, scorer.criteria, parts])
    document = {
        "collab_id": derived_id(f"evaluation judge|{identity}"),
        "title": f"{scorer.label}: {run.case_name} / {run.variant} #{run.repeat}",
        "purpose": f"Score the answer to the task between 0 and 1. {scorer.criteria}",
        "mode": "round_robin",
        "participants": [{"participant_id": _JUDGE}],
        "agents": {_JUDGE: agent},
        "stop": {"max_turns": 1},
        "messages": ["\n\n".join(parts)],
        "output": _VERDICT,
        "tenant": run.document.get("tenant"),
    }
    return Submission.from_document(document)


def read_verdict(scorer: Scorer, result: JobResult) -> ScoreResult:
    """Return what a judge said; without score if its session gave no output."""
    output = result.output_data
    if not result.ok or not isinstance(output, dict):
        error = f"the judge gave no score: {result.reason} {result.detail}".strip()
        return ScoreResult(scorer.label, None, error, result.usage)
    return ScoreResult(scorer.label, float(str(output["score"])), str(output["reason"]), result.usage)
