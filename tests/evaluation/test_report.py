"""The page of an evaluation."""

from __future__ import annotations

from symposia.evaluation.report import render_html
from symposia.evaluation.results import EvaluatedRun, EvaluationResult, RunState, ScoreResult


def test_the_page_escapes_what_agents_and_files_say():
    hostile = "<script>alert(1)</script>"
    run = EvaluatedRun(
        hostile,
        hostile,
        1,
        "id",
        RunState.COMPLETED,
        answer=hostile,
        scores=(ScoreResult(hostile, 1.0, hostile),),
    )
    page = render_html(EvaluationResult(hostile, (run,), (hostile,)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 9


def test_the_page_shows_runs_without_answer():
    failed = EvaluatedRun("door", "v", 1, "id", RunState.FAILED, reason="failed ann")
    page = render_html(EvaluationResult("e", (failed,), ("v",)))
    assert "failed: failed ann" in page
