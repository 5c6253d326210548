"""The report in reviewdog's diagnostic format (`rdjson`), for `reviewdog -f=rdjson`.

Ranges are whole lines: columns of the format count bytes, those of findings count characters. Findings that are
gone or known are left out, because reviewdog reports every diagnostic.

Source: https://github.com/reviewdog/reviewdog, proto/rdf/reviewdog.proto.
"""

from __future__ import annotations

from typing import Any

from ...models.text.redact import json_text
from ..values.findings import Finding
from ..values.runs import ReviewRun

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def to_rdjson(run: ReviewRun) -> str:
    """Return the report of a run."""
    result = {
        "source": {"name": f"symposia review ({run.panel})"},
        "diagnostics": [_diagnostic(it) for it in run.open_findings],
    }
    return json_text(result, indent=1) + "\n"


def _diagnostic(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {"path": finding.path}
    diagnostic: dict[str, Any] = {
        "message": "\n\n".join(filter(None, (finding.message, finding.why, finding.suggestion))),
        "location": location,
        "severity": _SEVERITIES[finding.severity.sarif_level],
        "code": {"value": finding.rule},
    }
    if finding.agents:
        diagnostic["source"] = {"name": ", ".join(finding.agents)}
    if finding.start_line:
        lines = {"start": {"line": finding.start_line}, "end": {"line": finding.end_line}}
        location["range"] = lines
        if finding.replacement is not None:
            diagnostic["suggestions"] = [{"range": lines, "text": finding.replacement}]
    return diagnostic
