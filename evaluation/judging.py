"""Sessions of judges: one turn, whose output is a score and its reason."""

from __future__ import annotations

from ..jobs.result import JobResult
from ..models.sessions.inputs import render_value
from ..models.sessions.submission import Submission
from ..models.text.ids import derived_id
from ..models.text.json_text import dump_json
from .cases import PlannedRun
from .checks import text_of
from .results import ScoreResult
from .scorers import Scorer

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
    """Return the session in which a judge scores an answer. Its id follows from its content.

    Args:
        scorer: The scorer of the judge.
        run: The run that gave the answer.
        answer: The answer.
    """
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
