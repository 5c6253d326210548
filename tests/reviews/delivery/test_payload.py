"""A summary for people and one for programs, with the headline of every other output."""

from __future__ import annotations

import json

import pytest

from review_tools.values import a_finding, a_result, a_run
from symposia.cli.reviews.output import Reports, print_findings
from symposia.models.severity import Severity
from symposia.reviews.delivery import payload as parcel
from symposia.reviews.delivery.payload import has_changes, summary_json, summary_text
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import ItemState, ReviewRun, RunState, headline

FINDING = a_finding(severity=Severity.HIGH, status=FindingStatus.NEW)
RUN = a_run(a_result(FINDING), findings=(FINDING,), summary="One import too many.")


def test_message_lists_the_gravest_findings_first():
    findings = (
        a_finding(rule="Z1", severity=Severity.LOW),
        FINDING,
        a_finding(rule="G1", status=FindingStatus.GONE),
        a_finding(rule="S1", status=FindingStatus.SUPPRESSED),
    )
    run = a_run(a_result(), a_result(state=ItemState.FAILED), findings=findings, summary="So so.")
    assert summary_text(run) == (
        "Review of shop by code: 1 high, 1 low (1 new, 1 gone, 1 suppressed)\n\nSo so.\n\n"
        "- app.py:3: high F401: `os` imported but unused (new)\n"
        "- app.py:3: low Z1: `os` imported but unused\n\n"
        "1 of 2 items could not be reviewed.\n"
    )


def test_message_lists_some_of_many_findings():
    run = a_run(findings=tuple(a_finding(line=at) for at in range(1, 31)))
    assert summary_text(run).count("\n- ") == parcel.MAX_LISTED_FINDINGS + 1
    assert summary_text(run).endswith("- and 10 more\n")


def test_machine_readable_summary_is_the_same(monkeypatch):
    told = json.loads(summary_json(RUN))
    assert told["type"] == "review.ended"
    assert (told["run_id"], told["root"], told["panel"], told["state"]) == (
        RUN.id,
        "shop",
        "code",
        "completed",
    )
    assert (told["open"], told["items"], told["findings_left_out"]) == ({"high": 1}, {"done": 1}, 0)
    assert told["findings"][0]["fingerprint"] == FINDING.fingerprint


def test_email_is_bounded_and_names_omissions():
    long = [a_finding(message="ä" * 4_000, line=at) for at in range(1, 100)]
    findings = (*long, a_finding(severity=Severity.CRITICAL, rule="first"))
    body = summary_json(a_run(findings=findings))
    told = json.loads(body)
    assert len(body) <= parcel.MAX_JSON_BYTES
    assert told["findings"][0]["rule"] == "first"
    assert 0 < told["findings_left_out"] == 100 - len(told["findings"])


@pytest.mark.parametrize(
    ("changes", "news"),
    [
        ({}, False),
        ({"findings": (a_finding(status=FindingStatus.STILL),)}, False),
        ({"findings": (a_finding(status=FindingStatus.SUPPRESSED),)}, False),
        ({"findings": (a_finding(status=FindingStatus.NEW),)}, True),
        ({"findings": (a_finding(status=FindingStatus.GONE),)}, True),
        ({"state": RunState.PARTIAL}, True),
        ({"state": RunState.FAILED}, True),
    ],
)
def test_changes_and_failed_runs_are_news(changes, news):
    assert has_changes(a_run(**changes)) is news


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
    assert headline(a_run()) == "Review of shop by code: no findings"
    assert headline(a_run(state=RunState.PARTIAL)) == "Review of shop by code, partial: no findings"


@pytest.mark.parametrize("as_json", [True, False])
def test_every_output_has_the_same_headline(run, as_json, capsys):
    print_findings(run, Reports(), as_json=as_json)
    said = capsys.readouterr()
    shown = said.err if as_json else said.out
    assert summary_text(run).splitlines()[0] == json.loads(summary_json(run))["headline"] == headline(run)
    assert headline(run).partition("\x1b")[0] in shown
    assert "\x1b" not in shown
    assert f"See symposia review show {run.id[:8]}." in shown
