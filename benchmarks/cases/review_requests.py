"""What reviews send to a model: a change next to its diff, a night's review, and items that are reviewed again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from harness.errors import BenchmarkError, SkippedCase
from harness.registry import Bench, case, median_ratio
from harness.results import Measure

#: Greatest tokens of a change as percent of its diff, and least percent of a night in the identical beginning.
MOST_OF_DIFF, LEAST_SHARED = 300.0, 80.0


@case("review_requests")
def review_requests(bench: Bench) -> Iterator[Measure]:
    """Tokens of a review next to `git diff -U10`, identical beginning of a night, items that are reviewed again."""
    if shutil.which("git") is None:
        raise SkippedCase("git is not installed")
    # With the packages of reviews.
    from harness.review_requests import (
        TYPICAL_FILES,
        change_files,
        copy_package,
        diff_tokens,
        plan_review,
    )

    from symposia.reviews.sources.files import FileSelection

    with tempfile.TemporaryDirectory() as name:
        folder = copy_package(Path(name))
        before = plan_review(folder)
        change_files(folder, TYPICAL_FILES[:1], shares=(0.6,))
        small, of_small_diff = plan_review(folder, FileSelection(since="HEAD")), diff_tokens(folder)
        change_files(folder)
        change, after = plan_review(folder, FileSelection(since="HEAD")), plan_review(folder)
        of_diff, shared = 100 * change.tokens / diff_tokens(folder), 100 * before.shared
    repeated = sum(before.shown[path] != digest for path, digest in after.shown.items())
    yield bench.exact("a pull request", "tokens", change.tokens)
    yield bench.exact("a pull request", "% of its diff", of_diff)
    yield bench.exact("a change at one place", "tokens", small.tokens)
    yield bench.exact("a change at one place", "% of its diff", 100 * small.tokens / of_small_diff)
    yield bench.exact(f"a night, {len(before.requests)} requests", "% identical", shared, more_is_better=True)
    yield bench.exact(f"{len(change.shown)} of {len(after.shown)} files changed", "items again", repeated)
    if of_diff > MOST_OF_DIFF or shared < LEAST_SHARED:
        raise BenchmarkError(f"{of_diff:.0f}% of the diff, {shared:.0f}% in the identical beginning")


#: Greatest CPU of a review by programs, as a multiple of that of the programs alone.
MOST_OF_TOOLS = 2.0


@case("review_programs")
def review_programs(bench: Bench) -> Iterator[Measure]:
    """CPU of the program seats of a review, without turns, next to ruff and bandit alone over the same files."""
    if not all(map(find_spec, ("ruff", "bandit"))):
        raise SkippedCase("ruff or bandit is not installed")
    from harness.review_requests import copy_package, program_cpu, tools_cpu

    with tempfile.TemporaryDirectory() as name:
        folder = copy_package(Path(name))
        measures = list(
            bench.alternate(
                "a repository", lambda: {"cpu": program_cpu(folder)}, lambda: {"cpu": tools_cpu(folder)}
            )
        )
    yield from measures
    ratio = median_ratio(measures, "a repository CPU")
    if ratio > MOST_OF_TOOLS:
        raise BenchmarkError(f"{ratio:.1f} times the CPU of ruff and bandit")
