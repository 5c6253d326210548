"""Progress of a review: cost so far, and an estimate of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.state.records import BatchView, Progress, duration_text


def a_view(**changes: object) -> BatchView:
    counts = dict.fromkeys(
        (
            "waiting",
            "running",
            "done",
            "failed",
            "unchanged",
            "cancelled",
            "spent_tokens",
            "spent_cost_micros",
        ),
        0,
    )
    fields = {
        "batch_id": "b",
        "state": "running",
        "total": 10,
        "started_ms": 1_000,
        "ended_ms": None,
        "reason": "",
    }
    return BatchView(**{**counts, **fields, **changes})  # type: ignore[arg-type]


def test_rest_is_estimated_from_the_reviewed_items() -> None:
    view = a_view(
        done=3, failed=1, unchanged=2, running=2, waiting=2, spent_tokens=800, spent_cost_micros=2_000
    )
    progress = Progress.of(view, now_ms=41_000)
    assert (progress.elapsed_s, progress.rest_s) == (40, 40)
    assert (progress.rest_tokens, progress.rest_cost_micros) == (800, 2_000)
    assert str(progress) == (
        "6 of 10, about 40 s left, 2 running, 1 failed, 800 tokens (about 800 more), $0.0020 (about $0.0020 more)"
    )


def test_nothing_is_estimated_before_the_first_item() -> None:
    progress = Progress.of(a_view(unchanged=4, running=6), now_ms=9_000)
    assert (progress.rest_s, progress.rest_tokens, progress.rest_cost_micros) == (None, None, None)
    assert str(progress) == "4 of 10, 6 running"


def test_ended_review_has_no_rest() -> None:
    progress = Progress.of(a_view(done=10, ended_ms=5_000), now_ms=99_000)
    assert (progress.elapsed_s, progress.rest_s) == (4, 0)
    assert str(progress) == "10 of 10"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (120, "2 min"), (7_200, "2 h"), (7_500, "2 h 5 min")]
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration_text(seconds) == words


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 10**12))
def test_estimates_are_never_negative(done: int, unchanged: int, left: int, now_ms: int) -> None:
    view = a_view(total=done + unchanged + left, done=done, unchanged=unchanged, spent_tokens=done * 7)
    progress = Progress.of(view, now_ms=now_ms)
    assert progress.elapsed_s >= 0
    assert progress.rest_s is None or progress.rest_s >= 0
    assert progress.rest_tokens is None or progress.rest_tokens == left * 7 * bool(done)
