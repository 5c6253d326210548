"""The report of a review in SARIF.

Gone findings are left out, because code hosts show every result as present. Paths are relative to the
repository, as code hosts expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from ...models.severity import Severity
from ...models.text.ids import format_timestamp
from ...models.text.redact import json_text, one_line
from ...models.text.sarif import SarifRule, sarif_fix, sarif_log, sarif_message
from ..chunks.guide import KINDS
from ..values.findings import MAX_QUOTE, Finding, FindingStatus, Side
from ..values.rules import is_security_rule, rule_title
from ..values.runs import ReviewRun, RunState
from .advice import ADVICE, kind_of, page_of
from .markdown import escape_text
from .report_model import FAILED, number_findings, unreviewed_of

#: Code scanning names these scores critical, high, medium and low.
_SECURITY_SCORES: Mapping[Severity, str] = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "3.0",
    Severity.INFO: "1.0",
}
_PRECISIONS = ((0.95, "very-high"), (0.75, "high"), (0.4, "medium"), (0.0, "low"))
#: Severities of problems that are not about security, by SARIF level.
_PROBLEMS = {"error": "error", "warning": "warning", "note": "recommendation"}


def sarif_rule_of(rule: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a rule, which describes all of its findings; `findings`: all of this rule, at least one."""
    worst = max(findings, key=lambda finding: (finding.severity.rank, finding.confidence))
    others = sorted({alias for finding in findings for alias in finding.aliases} - {rule})
    reporters = sorted({agent for finding in findings for agent in finding.agents})
    kind = next(filter(None, map(kind_of, findings)), None)
    title = rule_title(rule)
    sentences = (
        f"{title}.",
        f"Kind {kind.value}: {KINDS[kind]}." if kind else "",
        f"{'Rules' if others else 'Rule'} {', '.join([rule, *others])}.",
        f"Reported by {', '.join(reporters)}." if reporters else "",
    )
    full = one_line(" ".join(filter(None, sentences)))
    advice = [full, *([ADVICE[kind]] if kind else [])]
    return SarifRule(
        rule_id=rule,
        name=title.removeprefix("Rule "),
        short=without_links(one_line(title)),
        full=without_links(full),
        help=without_links("\n\n".join(advice)),
        help_markdown="\n\n".join(map(escape_text, advice)),
        help_uri=page.url if (page := page_of(worst)) else "",
        level=worst.severity.sarif_level,
        properties=_rule_properties(rule, findings, worst),
    ).to_json()


def without_links(text: str) -> str:
    """Return a text without embedded links `[text](target)`, which viewers follow even in plain text (SARIF, 3.11.6)."""
    return text.replace("](", "] (")


def _rule_properties(rule: str, findings: Sequence[Finding], worst: Finding) -> dict[str, Any]:
    names = {rule, *(alias for finding in findings for alias in finding.aliases)}
    least_certain = min(finding.confidence for finding in findings)
    properties: dict[str, Any] = {
        "precision": next(word for least, word in _PRECISIONS if least_certain >= least),
        "problem.severity": _PROBLEMS[worst.severity.sarif_level],
        "tags": ["review"],
    }
    if any(map(is_security_rule, names)):
        properties["security-severity"] = _SECURITY_SCORES[worst.severity]
        properties["tags"] = ["review", "security"]
    return properties


_BASELINE = {FindingStatus.NEW: "new", FindingStatus.STILL: "unchanged"}
#: Name of the fingerprint, which includes the number of a finding among equal ones, so that none replaces
#: another.
_FINGERPRINT = "symposiaFinding/v1"
#: Name of the only fingerprint that code scanning compares.
_CODE_SCANNING_FINGERPRINT = "primaryLocationLineHash"


def to_sarif(run: ReviewRun) -> str:
    """Return the report of a run."""
    present = [finding for finding in run.findings if finding.status != FindingStatus.GONE]
    ordered = sorted(present, key=attrgetter("rule"))
    by_rule = {rule: list(findings) for rule, findings in groupby(ordered, key=attrgetter("rule"))}
    order = {name: index for index, name in enumerate(by_rule)}
    log = sarif_log(
        "symposia review",
        version=version("symposia"),
        rules=[sarif_rule_of(rule, findings) for rule, findings in by_rule.items()],
        results=[
            _result(finding, order[finding.rule], number, uri=_uri_of(run, finding.path))
            for finding, number in number_findings(present)
        ],
        automationDetails={"id": f"{run.panel}/{run.root_name}/{run.id}"},
        invocations=[_invocation(run)],
        **_provenance(run),
        properties=_drop_empty(
            summary=run.summary, verdict=run.verdict, revision=run.revision, panel=run.panel
        ),
    )
    return json_text(log, indent=1) + "\n"


def _drop_empty(**properties: Any) -> dict[str, Any]:
    """Return the properties that have a value."""
    return {name: value for name, value in properties.items() if value not in ("", [], None)}


def _provenance(run: ReviewRun) -> dict[str, Any]:
    provenance = _drop_empty(repositoryUri=run.repository_url, revisionId=run.revision)
    return {"versionControlProvenance": [provenance]} if run.repository_url else {}


def _invocation(run: ReviewRun) -> dict[str, Any]:
    return _drop_empty(
        executionSuccessful=run.state is RunState.COMPLETED,
        startTimeUtc=format_timestamp(run.started_at),
        endTimeUtc=run.ended_at and format_timestamp(run.ended_at),
        toolExecutionNotifications=list(_notifications(run)),
    )


def _notifications(run: ReviewRun) -> Iterator[dict[str, Any]]:
    """Yield a notification for each reason for which something was not reviewed."""
    for entry in unreviewed_of(run):
        places = [
            {"physicalLocation": {"artifactLocation": {"uri": _uri_of(run, path)}}} for path in entry.paths
        ]
        notification = {
            "level": "error" if entry.reason.startswith(FAILED) else "note",
            "message": {"text": without_links(f"not reviewed: {entry}")},
        }
        yield _drop_empty(**notification, locations=places)


def _result(finding: Finding, rule_index: int, number: int, *, uri: str) -> dict[str, Any]:
    text = without_links(finding.full_text)
    fingerprint = f"{finding.fingerprint}:{number}"
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        **sarif_message(finding.severity.sarif_level, text, uri=uri, **_region(finding)),
        "partialFingerprints": {_FINGERPRINT: fingerprint, _CODE_SCANNING_FINGERPRINT: fingerprint},
        "properties": _properties(finding),
    }
    if finding.replacement is not None and finding.start_line:
        fix = sarif_fix(
            without_links(finding.suggestion) or "Proposed replacement of the lines.",
            uri=uri,
            start=finding.start_line,
            end=finding.end_line,
            text=finding.replacement,
        )
        result["fixes"] = [fix]
    if finding.status in _BASELINE:
        result["baselineState"] = _BASELINE[finding.status]
    if finding.status == FindingStatus.SUPPRESSED:
        kind = "external" if finding.suppression is None else "inSource"
        justification = f"suppressed by {finding.suppressed_by}"
        result["suppressions"] = [{"kind": kind, "justification": justification}]
    return result


def _properties(finding: Finding) -> dict[str, Any]:
    return _drop_empty(
        severity=finding.severity.value,
        agents=list(finding.agents),
        confidence=finding.confidence,
        aliases=list(finding.aliases),
        suggestion=finding.suggestion,
        verification=finding.verification and finding.verification.model_dump(mode="json"),
        unverified=finding.unverified or None,
    )


def _region(finding: Finding) -> dict[str, int]:
    """Return the lines and columns; the first line if the finding is about the whole item, or about removed lines.

    Without columns from the reviewer, they are those of the text of the flagged lines.
    """
    if not finding.start_line or finding.side is Side.LEFT:
        return {"startLine": 1}
    first, last = finding.quote, _line_of(finding, finding.end_line)
    start = finding.start_column or len(first) - len(first.lstrip()) + 1
    region = {"startLine": finding.start_line, "startColumn": start, "endLine": finding.end_line}
    end = finding.end_column or (len(last.rstrip()) + 1 if last and len(last) < MAX_QUOTE else 0)
    is_after_start = end > start or (end and finding.end_line > finding.start_line)
    return {**region, "endColumn": end} if is_after_start else region


def _line_of(finding: Finding, number: int) -> str:
    """Return a flagged line; empty: the finding does not hold it."""
    excerpt = finding.excerpt
    if excerpt is None:
        return finding.quote if number == finding.start_line else ""
    index = number - excerpt.first_line
    return excerpt.lines[index] if index < len(excerpt.lines) else ""


def _uri_of(run: ReviewRun, path: str) -> str:
    return uri(run.repository_path(path))


def uri(path: str) -> str:
    """Return a path as a relative reference (RFC 3986): no part can be read as a scheme, a host or a root."""
    quoted = quote(path)
    return f".{quoted}" if quoted.startswith("/") else quoted
