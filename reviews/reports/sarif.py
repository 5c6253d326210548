"""The report in SARIF 2.1.0, which code hosts show beside the lines it is about.

What is gone is left out: hosts take every result for one that is there.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from ...models.ids import format_timestamp
from ...models.json_text import json_text
from ...models.review.findings import Finding, FindingStatus
from ...models.review.runs import ItemState, ReviewRun, RunState
from ...models.shown import one_line

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASELINE = {FindingStatus.NEW: "new", FindingStatus.STILL: "unchanged"}
#: One of several findings with the same fingerprint is told by its number, so that none replaces another.
_FINGERPRINT = "symposiaFinding/v1"


def to_sarif(run: ReviewRun) -> str:
    """The report of a run."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(run)]}
    return json_text(log, indent=1) + "\n"


def _run(run: ReviewRun) -> dict[str, Any]:
    found = [it for it in run.findings if it.status != FindingStatus.GONE]
    first = {it.rule: it for it in reversed(found)}
    rules = {rule: index for index, rule in enumerate(sorted(first))}
    driver = {
        "name": "symposia review",
        "version": version("symposia"),
        "rules": [{"id": it, "shortDescription": {"text": one_line(first[it].message)}} for it in rules],
    }
    told: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{run.panel}/{run.root_name}/{run.id}"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(run)],
        "results": list(_results(found, rules)),
    }
    properties = {
        "summary": run.summary,
        "verdict": run.verdict,
        "revision": run.revision,
        "panel": run.panel,
    }
    told["properties"] = {name: value for name, value in properties.items() if value}
    return told


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
    """What was not reviewed."""
    for result in run.results:
        if result.state is ItemState.FAILED:
            yield _notification(result.item.path, "error", f"failed: {result.error}")
    for skipped in run.skipped:
        yield _notification(skipped.path, "note", f"skipped: {skipped.reason}")


def _notification(path: str, level: str, text: str) -> dict[str, Any]:
    return {
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(path)}}}],
    }


def _results(found: list[Finding], rules: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for finding in found:
        number = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
        yield _result(finding, rules[finding.rule], number)


def _result(finding: Finding, rule: int, number: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri(finding.path)}}
    if finding.start_line:
        place["region"] = {"startLine": finding.start_line, "endLine": finding.end_line}
    said = f"{finding.message}\n\n{finding.suggestion}" if finding.suggestion else finding.message
    properties = {
        "severity": finding.severity.value,
        "agents": list(finding.agents),
        "confidence": finding.confidence,
        "aliases": list(finding.aliases),
        "suggestion": finding.suggestion,
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.severity.sarif_level,
        "message": {"text": said},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {_FINGERPRINT: f"{finding.fingerprint}:{number}"},
        "properties": {name: value for name, value in properties.items() if value not in ("", [])},
    }
    if finding.status in _BASELINE:
        result["baselineState"] = _BASELINE[finding.status]
    if finding.status == FindingStatus.SUPPRESSED:
        result["suppressions"] = [{"kind": "external", "justification": "the baseline knows it"}]
    return result


def uri(path: str) -> str:
    """A path as a relative reference (RFC 3986): nothing in it is taken for a scheme, a host or a root."""
    quoted = quote(path)
    return f".{quoted}" if quoted.startswith("/") else quoted
