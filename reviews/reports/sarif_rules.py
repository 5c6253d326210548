"""Rules of a SARIF report, described by their findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...models.severity import Severity
from ...models.text.redact import one_line
from ...models.text.sarif import SarifRule
from ..values.findings import Finding
from ..values.rule_pages import is_security_rule, rule_page
from .markdown import escape_text

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
    """Return a rule; `findings`: all of this rule, at least one."""
    worst = max(findings, key=lambda it: (it.severity.rank, it.confidence))
    message = without_links(one_line(worst.message))
    advice = next((it.suggestion for it in findings if it.suggestion), "")
    text = "\n\n".join(filter(None, (worst.message, worst.why, advice)))
    return SarifRule(
        rule_id=rule,
        short=message,
        full=without_links(one_line(" ".join(filter(None, (worst.message, worst.why))))),
        help=without_links(text),
        help_markdown=escape_text(text),
        help_uri=next((page for name in (rule, *worst.aliases) if (page := rule_page(name))), ""),
        level=worst.severity.sarif_level,
        properties=_properties(rule, findings, worst),
    ).to_json()


def without_links(text: str) -> str:
    """Return a text without embedded links `[text](target)`, which viewers follow even in plain text (SARIF, 3.11.6)."""
    return text.replace("](", "] (")


def _properties(rule: str, findings: Sequence[Finding], worst: Finding) -> dict[str, Any]:
    names = {rule, *(alias for it in findings for alias in it.aliases)}
    properties: dict[str, Any] = {
        "precision": _precision(min(it.confidence for it in findings)),
        "problem.severity": _PROBLEMS[worst.severity.sarif_level],
        "tags": ["review"],
    }
    if any(map(is_security_rule, names)):
        properties["security-severity"] = _SECURITY_SCORES[worst.severity]
        properties["tags"] = ["review", "security"]
    return properties


def _precision(confidence: float) -> str:
    return next(word for least, word in _PRECISIONS if confidence >= least)
