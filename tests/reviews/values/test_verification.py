"""A verifier keeps, lowers or drops findings, each with a reason."""

from __future__ import annotations

import json

from review_tools.values import a_finding
from symposia.models.severity import Severity
from symposia.reviews.values.answers import UNNAMED_RULE
from symposia.reviews.values.checks import parse_verdicts, verify_findings
from symposia.reviews.values.findings import VerifiedAs

FINDING = a_finding(line=3, rule="S105", severity=Severity.HIGH)


def verified(**verdict: object):
    text = json.dumps({"verdicts": [{"line": 3, "rule": "s105", "reason": "because", **verdict}]})
    return verify_findings([FINDING], parse_verdicts(f"```json\n{text}\n```", agent="verifier"))


def test_kept_finding_has_the_verdict() -> None:
    (finding,) = verified(verdict="keep", severity="low", confidence=0.7).findings
    assert (finding.severity, finding.confidence) == (Severity.HIGH, 0.7)
    assert finding.verification is not None
    assert (finding.verification.verdict, finding.verification.agent, finding.verification.reason) == (
        VerifiedAs.KEPT,
        "verifier",
        "because",
    )


def test_lowered_finding_is_never_raised() -> None:
    for wanted, severity in [("low", Severity.LOW), ("critical", Severity.MEDIUM), (None, Severity.MEDIUM)]:
        (finding,) = verified(verdict="lower", severity=wanted).findings
        assert finding.severity is severity
        assert finding.verification is not None
        assert finding.verification.verdict is VerifiedAs.LOWERED


def test_dropped_finding_is_counted() -> None:
    assert verified(verdict="drop") == ((), 1)


def test_verdict_without_a_rule_is_on_findings_without_one() -> None:
    verdicts = parse_verdicts('{"verdicts": [{"line": 3, "rule": " ", "verdict": "drop"}]}', agent="v")
    findings = [FINDING, a_finding(line=3, rule=UNNAMED_RULE)]
    assert verify_findings(findings, verdicts) == ((FINDING,), 1)


def test_other_findings_stay_unverified() -> None:
    for verdict in ({"verdict": "drop", "line": 4}, {"verdict": "drop", "rule": "x"}, {"verdict": "maybe"}):
        assert verified(**verdict) == ((FINDING,), 0)
