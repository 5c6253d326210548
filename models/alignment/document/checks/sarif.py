"""Findings of `symposia lint` in SARIF.

A finding about the form carries the replacement of its line as a fix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ....text.sarif import sarif_log, sarif_message, sarif_rule
from .findings import RULES, LintFinding


def to_sarif(findings: Mapping[str, Sequence[LintFinding]], *, version: str) -> dict[str, Any]:
    """Return the findings of each file as one run of `symposia lint`; `version` is Symposia's."""
    rules = [
        sarif_rule(code.value, text, defaultConfiguration={"level": severity.value})
        for code, (severity, text) in RULES.items()
    ]
    order = {code: index for index, code in enumerate(RULES)}
    results = [_result(file, it, order[it.code]) for file, found in findings.items() for it in found]
    return sarif_log("symposia lint", version=version, rules=rules, results=results)


def _result(file: str, finding: LintFinding, rule_index: int) -> dict[str, Any]:
    uri, line = quote(file), max(finding.line, 1)
    result: dict[str, Any] = {
        "ruleId": finding.code.value,
        "ruleIndex": rule_index,
        **sarif_message(
            finding.severity.value, finding.message, uri=uri, startLine=line, startColumn=finding.column
        ),
    }
    if finding.fix_hint is not None:
        # The whole line: from its start to the start of the next line.
        whole = {"startLine": line, "startColumn": 1, "endLine": line + 1, "endColumn": 1}
        replacement = {"deletedRegion": whole, "insertedContent": {"text": finding.fix_hint + "\n"}}
        change = {"artifactLocation": {"uri": uri}, "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": "replacement of the line"}, "artifactChanges": [change]}]
    return result
