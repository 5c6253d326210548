"""Share of a run that was reviewed, and gates on it."""

from __future__ import annotations

import pytest

from review_tools.values import a_result
from symposia.models.gate import Gate
from symposia.reviews.values.coverage import count_coverage
from symposia.reviews.values.runs import ItemState, SkippedItem, SkippedList


def test_share_counts_what_was_meant_to_be_reviewed():
    results = [a_result(path=f"{state}.py", state=state) for state in (ItemState.DONE, ItemState.FAILED)]
    reasons = ("binary", "generated: lock file", "larger than 262,144 bytes", "not installed: oxlint")
    coverage = count_coverage(
        results, [SkippedItem(path=f"f{at}", reason=it) for at, it in enumerate(reasons)]
    )
    assert (coverage.reviewed, coverage.total, coverage.is_whole) == (1, 4, False)
    assert str(coverage) == (
        "Reviewed 1 of 4 items (25%); not reviewed: 1 failed, 1 larger than 262,144 bytes, 1 not installed: oxlint."
        " Left out: 1 binary, 1 generated: lock file."
    )
    assert str(count_coverage(results[:1], ())) == ""


def test_unlisted_items_are_counted_by_reason():
    skipped = SkippedList(2)
    for number in range(5_000):
        skipped.add(SkippedItem(path=f"f{number}", reason="binary" if number % 2 else "empty"))
    assert len(skipped.items) == 4
    assert sum(item.count for item in skipped.items) == 5_000


@pytest.mark.parametrize("text", ["unreviewed", "high,unreviewed", "new:low,unreviewed", "high"])
def test_gate_is_read_as_it_is_written(text: str):
    gate = Gate.parse(text)
    assert (str(gate), gate.unreviewed) == (text, "unreviewed" in text)


@pytest.mark.parametrize("text", ["high,low", "unreviewed,unreviewed", "", "high,"])
def test_other_gates_are_refused(text: str):
    with pytest.raises(ValueError, match="must be a severity"):
        Gate.parse(text)
