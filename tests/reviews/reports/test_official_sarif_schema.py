"""SARIF reports are valid by the schema of SARIF 2.1.0 that code hosts use, whatever findings say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from programs import find_node_file
from review_tools.runs import a_reported_run, evil_runs
from review_tools.sarif_subset import faults
from symposia.reviews.reports.formats import SARIF, render
from symposia.reviews.values.runs import ReviewRun

PLACE = "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(find_node_file("sarif-schema", PLACE).read_text())


def test_report_is_valid(schema: dict[str, Any]) -> None:
    assert faults(render(a_reported_run(), SARIF), schema) == []


@given(run=evil_runs())
def test_report_of_any_text_is_valid(schema: dict[str, Any], run: ReviewRun) -> None:
    assert faults(render(run, SARIF), schema) == []


def test_wrong_reports_are_noticed(schema: dict[str, Any]) -> None:
    log = json.loads(render(a_reported_run(), SARIF))
    log["runs"][0]["results"][0]["level"] = "high"
    del log["runs"][0]["tool"]
    assert len(faults(json.dumps(log), schema)) == 2
