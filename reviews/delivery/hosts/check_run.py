"""Check runs of GitHub: the result of a review beside a commit, with an annotation for each finding.

Source: https://docs.github.com/rest/checks/runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from ....models.severity import Severity
from ...values.findings import Finding, Side
from ...values.runs import ReviewRun, headline
from ..payload import by_weight
from .api import HostApi
from .publish import CommitStatus
from .summary import summary_body

#: Maximum annotations of one request, and of a check run.
_BATCH, MAX_ANNOTATIONS = 50, 500
#: Maximum characters of an annotation's title; GitHub takes 255.
_MAX_TITLE = 200
_LEVELS = {Severity.CRITICAL: "failure", Severity.HIGH: "failure", Severity.INFO: "notice"}


def write_check_run(
    api: HostApi, repository_path: str, revision: str, status: CommitStatus, run: ReviewRun
) -> None:
    """Write the check run of a review; a repeated call corrects it and adds missing annotations. Raises DeliveryFailed.

    A run that did not complete has failed, as its commit status has: "neutral" would satisfy a required check. The annotations of GitHub are text, in which nothing is rendered.
    """
    annotations = [_annotation(finding) for finding in by_weight(run.open_findings) if _has_lines(finding)]
    annotations = annotations[:MAX_ANNOTATIONS]
    output = {
        "title": headline(run)[:_MAX_TITLE],
        "summary": summary_body(run, run.open_findings, commented=0),
    }
    result = {"status": "completed", "conclusion": "success" if status.has_passed else "failure"}
    existing = _find(api, f"{repository_path}/commits/{revision}/check-runs", status.name, run)
    if existing is None:
        data = {
            **result,
            "name": status.name,
            "head_sha": revision,
            "external_id": run.id,
            "output": {**output, "annotations": annotations[:_BATCH]},
        }
        existing = api.call("POST", f"{repository_path}/check-runs", data).data
        starts = range(_BATCH, len(annotations), _BATCH)
    else:  # one request at least, because the conclusion may be another one
        written = existing["output"]["annotations_count"]
        starts = range(written, max(len(annotations), written + 1), _BATCH)
    for start in starts:
        more = {**result, "output": {**output, "annotations": annotations[start : start + _BATCH]}}
        api.call("PATCH", f"{repository_path}/check-runs/{existing['id']}", more)


def _find(api: HostApi, path: str, name: str, run: ReviewRun) -> dict[str, Any] | None:
    """Return the check run that an earlier delivery of a review has written; None: there is none."""
    query = urlencode({"check_name": name, "per_page": 100})
    answer = api.call("GET", f"{path}?{query}", accept=(404, 422))
    runs: Sequence[dict[str, Any]] = answer.data["check_runs"] if answer.status == 200 else ()
    return next((entry for entry in runs if entry.get("external_id") == run.id), None)


def _has_lines(finding: Finding) -> bool:
    """Return whether a finding has lines of the present text, which annotations need."""
    return finding.start_line > 0 and finding.side is Side.RIGHT


def _annotation(finding: Finding) -> dict[str, Any]:
    return {
        "path": finding.path,
        "start_line": finding.start_line,
        "end_line": finding.end_line,
        "annotation_level": _LEVELS.get(finding.severity, "warning"),
        "title": f"{finding.severity.value}: {finding.rule}"[:_MAX_TITLE],
        "message": finding.full_text,
    }
