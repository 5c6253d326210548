"""The report as lines of JSON, for programs: the run, its items, what was skipped, its findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...models.review.runs import ReviewRun
from ...models.text.json_text import json_text


def to_jsonl(run: ReviewRun) -> str:
    """Return the report of a run; each line is an object whose `type` is `run`, `item`, `skipped` or `finding`."""
    return "".join(f"{json_text(it)}\n" for it in _objects(run))


def _objects(run: ReviewRun) -> Iterator[dict[str, Any]]:
    told = run.model_dump(mode="json", exclude={"results", "skipped", "findings"})
    yield {"type": "run", "verdict": run.verdict, **told}
    for result in run.results:
        yield {"type": "item", **result.model_dump(mode="json", exclude={"findings"})}
    for skipped in run.skipped:
        yield {"type": "skipped", **skipped.model_dump(mode="json")}
    for finding in run.findings:
        yield {"type": "finding", "fingerprint": finding.fingerprint, **finding.model_dump(mode="json")}
