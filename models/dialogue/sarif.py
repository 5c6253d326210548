"""Findings in SARIF 2.1.0, which code hosts show beside the lines they are about.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .findings import RULES, Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(findings: Mapping[str, Sequence[Finding]], *, version: str) -> dict[str, Any]:
    """The findings of each file as one run of `symposia lint`; `version` is Symposia's."""
    rules = [
        {
            "id": code.value,
            "shortDescription": {"text": message},
            "defaultConfiguration": {"level": severity.value},
        }
        for code, (severity, message) in RULES.items()
    ]
    order = {code: index for index, code in enumerate(RULES)}
    results = [_result(file, it, order[it.code]) for file, found in findings.items() for it in found]
    driver = {"name": "symposia lint", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(file: str, finding: Finding, rule: int) -> dict[str, Any]:
    artifact = {"uri": quote(file.replace("\\", "/"))}
    line = max(finding.line, 1)
    result: dict[str, Any] = {
        "ruleId": finding.code.value,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artifact,
                    "region": {"startLine": line, "startColumn": finding.column},
                }
            }
        ],
    }
    if finding.fix_hint is not None:
        # From the line's beginning to that of the next: the line as a whole.
        whole = {"startLine": line, "startColumn": 1, "endLine": line + 1, "endColumn": 1}
        replacement = {"deletedRegion": whole, "insertedContent": {"text": finding.fix_hint + "\n"}}
        change = {"artifactLocation": artifact, "replacements": [replacement]}
        result["fixes"] = [
            {"description": {"text": "the line to write instead"}, "artifactChanges": [change]}
        ]
    return result
