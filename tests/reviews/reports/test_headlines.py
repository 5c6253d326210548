"""A run has the same headline in every output."""

from __future__ import annotations

import json

import pytest

from review_tools.values import a_finding, a_run
from symposia.cli.reviews.output import Reports, print_findings
from symposia.models.severity import Severity
from symposia.reviews.delivery.payload import summary_json, summary_text
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import ReviewRun, RunState, headline


@pytest.fixture
def run() -> ReviewRun:
    statuses = {"a": FindingStatus.NEW, "b": FindingStatus.GONE, "c": FindingStatus.SUPPRESSED}
    found = [a_finding(path=path, status=status) for path, status in statuses.items()]
    found.append(a_finding(path="d", severity=Severity.CRITICAL))
    return a_run(findings=tuple(found), state=RunState.PARTIAL, root_name="[b]shop\x1b[31m")


def test_headline_has_open_findings_and_changes(run):
    told = headline(run)
    assert told.startswith("Review of [b]shop")
    assert told.split(" by ")[1].startswith("code, partial: 1 critical, 1 ")
    assert told.endswith("(1 new, 1 gone, 1 suppressed)")
    assert headline(a_run(root_name="shop")) == "Review of shop by code: no findings"


@pytest.mark.parametrize("as_json", [True, False])
def test_every_output_has_the_same_headline(run, as_json, capsys):
    print_findings(run, Reports(), as_json=as_json)
    said = capsys.readouterr()
    shown = said.err if as_json else said.out
    assert summary_text(run).splitlines()[0] == json.loads(summary_json(run))["headline"] == headline(run)
    assert headline(run).partition("\x1b")[0] in shown
    assert "\x1b" not in shown
    assert f"See symposia review show {run.id[:8]}." in shown
