"""The result of a failed turn that monitors get."""

from __future__ import annotations

import pytest

from symposia.tasks.turns.results import summarize_return

THEN = "attempt 1 of 3, retried in 1 s"


@pytest.mark.parametrize("is_last", [False, True])
def test_returned_turn_names_the_next_step(is_last: bool) -> None:
    end = summarize_return("retried", "ValueError: no disk", THEN, is_last=is_last)
    assert (end.text, end.failed) == (f"failed: ValueError: no disk; {THEN}", is_last)


@pytest.mark.parametrize("word", ["stale", "done", "missing"])
def test_refused_failure_promises_no_retry(word: str) -> None:
    end = summarize_return(word, "ValueError: no disk", THEN, is_last=True)
    assert (end.text, end.failed) == (f"discarded ({word}): failed: ValueError: no disk", False)
