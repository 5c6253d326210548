"""A gate counts open findings of a severity, all or new ones."""

from __future__ import annotations

import pytest

from review_tools.values import a_finding
from symposia.models.gate import Gate
from symposia.models.severity import Severity
from symposia.reviews.values.findings import FindingStatus


@pytest.mark.parametrize(
    ("text", "normal"), [("high", "high"), ("new", "new:low"), ("new:critical", "new:critical")]
)
def test_gate_is_read_and_shown(text, normal):
    assert str(Gate.parse(text)) == normal


@pytest.mark.parametrize("text", ["", "new:", "old:high", "High", "high:new", "new:high:low"])
def test_other_text_is_no_gate(text):
    with pytest.raises(ValueError, match="must be a severity"):
        Gate.parse(text)


@pytest.mark.parametrize(
    ("gate", "status", "fails"),
    [
        ("medium", FindingStatus.STILL, True),
        ("medium", FindingStatus.GONE, False),
        ("medium", FindingStatus.SUPPRESSED, False),
        ("high", FindingStatus.NEW, False),
        ("new:medium", FindingStatus.NEW, True),
        ("new:medium", FindingStatus.STILL, False),
        ("new:high", FindingStatus.NEW, False),
    ],
)
def test_gate_counts_by_severity_and_status(gate, status, fails):
    assert Gate.parse(gate).fails([a_finding(severity=Severity.MEDIUM, status=status)]) is fails
