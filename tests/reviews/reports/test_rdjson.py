"""The report for reviewdog has the fields of its diagnostic format."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from jsonschema import Draft4Validator

from review_tools.pulls import on_line
from review_tools.runs import a_reported_run, evil_runs
from review_tools.values import a_finding, a_run
from symposia.models.severity import Severity
from symposia.reviews.reports.formats import RDJSON, render

_POSITION = {
    "type": "object",
    "required": ["line"],
    "properties": {"line": {"type": "integer", "minimum": 1}},
}
_RANGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["start"],
    "properties": {"start": _POSITION, "end": _POSITION},
}
_NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
#: What of reviewdog's own schema a report uses.
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "source": _NAMED,
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["message", "location"],
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "location": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["path"],
                        "properties": {"path": {"type": "string"}, "range": _RANGE},
                    },
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "source": _NAMED,
                    "code": {"type": "object", "properties": {"value": {"type": "string"}}},
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["range", "text"],
                            "properties": {"range": _RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}


def diagnostics(*findings: Any) -> list[dict[str, Any]]:
    return json.loads(render(a_run(findings=findings), RDJSON))["diagnostics"]


def test_diagnostic_has_place_rule_and_suggestion():
    finding = on_line(2, end_line=3, severity=Severity.HIGH, why="It leaks.", replacement="key = read()")
    lines = {"start": {"line": 2}, "end": {"line": 3}}
    assert diagnostics(finding) == [
        {
            "message": "S105 is broken\n\nIt leaks.",
            "location": {"path": "app.py", "range": lines},
            "severity": "ERROR",
            "code": {"value": "S105"},
            "source": {"name": "ruff"},
            "suggestions": [{"range": lines, "text": "key = read()"}],
        }
    ]


def test_finding_about_a_file_has_no_range():
    (diagnostic,) = diagnostics(a_finding(line=0, severity=Severity.LOW, replacement="x"))
    assert diagnostic["location"] == {"path": "app.py"}
    assert (diagnostic["severity"], "suggestions" in diagnostic) == ("INFO", False)


def test_known_and_gone_findings_are_left_out():
    run = a_reported_run()
    found = json.loads(render(run, RDJSON))["diagnostics"]
    assert [it["code"]["value"] for it in found] == [it.rule for it in run.open_findings]
    assert len(found) < len(run.findings)


@given(evil_runs())
def test_report_is_valid_for_any_text(run):
    Draft4Validator(SCHEMA).validate(json.loads(render(run, RDJSON)))
