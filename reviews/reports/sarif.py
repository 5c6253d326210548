"""The report of a review in SARIF.

Gone findings are left out, because code hosts show every result as present.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from ...models.review.findings import Finding, FindingStatus
from ...models.review.runs import ItemState, ReviewRun, RunState
from ...models.text.ids import format_timestamp
from ...models.text.redact import json_text, one_line
from ...models.text.sarif import sarif_log, sarif_message, sarif_rule

_BASELINE = {FindingStatus.NEW: "new", FindingStatus.STILL: "unchanged"}
#: Name of the fingerprint, which includes the number of a finding among equal ones, so that none replaces
#: another.
_FINGERPRINT = "symposiaFinding/v1"


def to_sarif(run: ReviewRun) -> str:
    """Return the report of a run."""
    found = [it for it in run.findings if it.status != FindingStatus.GONE]
    first = {it.rule: it for it in reversed(found)}
    order = {name: index for index, name in enumerate(sorted(first))}
    properties = {
        "summary": run.summary,
        "verdict": run.verdict,
        "revision": run.revision,
        "panel": run.panel,
    }
    known = {name: value for name, value in properties.items() if value}
    log = sarif_log(
        "symposia review",
        version=version("symposia"),
        rules=[sarif_rule(it, one_line(first[it].message)) for it in order],
        results=list(_results(found, order)),
        automationDetails={"id": f"{run.panel}/{run.root_name}/{run.id}"},
        invocations=[_invocation(run)],
        **({"properties": known} if known else {}),
    )
    return json_text(log, indent=1) + "\n"


def _invocation(run: ReviewRun) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": run.state is RunState.COMPLETED,
        "startTimeUtc": format_timestamp(run.started_at),
    }
    if run.ended_at is not None:
        invocation["endTimeUtc"] = format_timestamp(run.ended_at)
    notifications = list(_notifications(run))
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    return invocation


def _notifications(run: ReviewRun) -> Iterator[dict[str, Any]]:
    """Yield notifications of what was not reviewed."""
    for result in run.results:
        if result.state is ItemState.FAILED:
            yield sarif_message("error", f"failed: {result.error}", uri=uri(result.item.path))
    for skipped in run.skipped:
        yield sarif_message("note", f"skipped: {skipped.reason}", uri=uri(skipped.path))


def _results(found: list[Finding], order: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for finding in found:
        number = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
        yield _result(finding, order[finding.rule], number)


def _result(finding: Finding, rule_index: int, number: int) -> dict[str, Any]:
    lines = {"startLine": finding.start_line, "endLine": finding.end_line} if finding.start_line else {}
    text = f"{finding.message}\n\n{finding.suggestion}" if finding.suggestion else finding.message
    properties = {
        "severity": finding.severity.value,
        "agents": list(finding.agents),
        "confidence": finding.confidence,
        "aliases": list(finding.aliases),
        "suggestion": finding.suggestion,
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        **sarif_message(finding.severity.sarif_level, text, uri=uri(finding.path), **lines),
        "partialFingerprints": {_FINGERPRINT: f"{finding.fingerprint}:{number}"},
        "properties": {name: value for name, value in properties.items() if value not in ("", [])},
    }
    if finding.status in _BASELINE:
        result["baselineState"] = _BASELINE[finding.status]
    if finding.status == FindingStatus.SUPPRESSED:
        kind = "external" if finding.suppression is None else "inSource"
        justification = f"suppressed by {finding.suppressed_by}"
        result["suppressions"] = [{"kind": kind, "justification": justification}]
    return result


def uri(path: str) -> str:
    """Return a path as a relative reference (RFC 3986): no part can be read as a scheme, a host or a root."""
    quoted = quote(path)
    return f".{quoted}" if quoted.startswith("/") else quoted
