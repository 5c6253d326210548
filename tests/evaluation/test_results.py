"""Figures of an evaluation, and their page."""

from __future__ import annotations

from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.evaluation.results import (
    EvaluatedRun,
    EvaluationResult,
    RunState,
    ScoreResult,
    VariantSummary,
    render_html,
)
from symposia.models.turns.turn import Usage


def run(*scores, state=RunState.COMPLETED, tokens=0, seconds=1.0):
    return EvaluatedRun(
        case="c",
        variant="v",
        repeat=1,
        session_id="id",
        state=state,
        scores=tuple(ScoreResult(str(i), it, usage=Usage(input_tokens=2)) for i, it in enumerate(scores)),
        usage=Usage(input_tokens=tokens),
        seconds=seconds,
    )


def result(*runs):
    return EvaluationResult("e", runs, ("v",))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_score_and_spread_are_mean_and_deviation(scores):
    summary = VariantSummary.of("v", [run(it, seconds=2, tokens=3) for it in scores])
    assert (summary.score, summary.spread) == (fmean(scores), stdev(scores))
    assert (summary.usage.tokens, summary.judge_usage.tokens) == (3 * len(scores), 2 * len(scores))
    assert (summary.seconds, summary.runs, summary.unscored) == (2, len(scores), 0)


def test_a_failed_session_scores_0():
    summary = VariantSummary.of("v", [run(1.0), run(state=RunState.FAILED)])
    assert (summary.score, summary.failed, summary.unscored) == (0.5, 1, 0)
    assert result(run(1.0), run(state=RunState.FAILED)).reaches(0.5)


@pytest.mark.parametrize("missing", [run(1.0, None), run(state=RunState.NOT_RUN)])
def test_a_run_without_score_is_no_zero_and_no_pass(missing):
    found = result(run(1.0), missing)
    assert found.summaries[0].score == 1.0
    assert found.summaries[0].unscored + found.summaries[0].not_run == 1
    assert not found.reaches(0.0)


def test_every_variant_must_reach_the_score():
    good, bad = run(1.0), EvaluatedRun("c", "w", 1, "id", RunState.COMPLETED, scores=(ScoreResult("0", 0.2),))
    both = EvaluationResult("e", (good, bad), ("v", "w"))
    assert both.reaches(0.2)
    assert not both.reaches(0.21)


def test_spread_needs_two_scores():
    assert VariantSummary.of("v", [run(1.0)]).spread is None
    assert VariantSummary.of("v", []).score is None


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
