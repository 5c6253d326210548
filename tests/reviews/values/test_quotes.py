"""A model's finding counts only if it quotes a line that the model was to review."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.values import a_finding
from symposia.models.severity import Severity
from symposia.models.text.numbered_lines import ShownLine, format_line
from symposia.reviews.values.checks import cap_severity, check_quotes
from symposia.reviews.values.findings import Verification, VerifiedAs

LINES = {
    1: ShownLine("import os", is_reviewed=False),
    2: ShownLine("    return total / count", is_reviewed=True),
    3: ShownLine("pass", is_reviewed=True),
    **{number: ShownLine("", is_reviewed=True) for number in range(4, 30)},
    30: ShownLine("pass", is_reviewed=True),
    32: ShownLine('    200: "OK",', is_reviewed=True),
    33: ShownLine("404| 7", is_reviewed=True),
    31: ShownLine("password = 'x'  # for the tests", is_reviewed=True),
}


def placed(line: int, quote: str, **changes: object) -> tuple[int, ...]:
    finding = a_finding(line=line).model_copy(update={"quote": quote, **changes})
    return tuple(it.start_line for it in check_quotes([finding], LINES).findings)


@pytest.mark.parametrize(
    ("line", "quote", "found"),
    [
        (2, "    return total / count", (2,)),
        (2, "return  total /\tcount", (2,)),
        (2, "    2|     return total / count", (2,)),
        (2, "total / count", (2,)),
        (4, "return total / count", (2,)),
        (20, "return total / count", (2,)),
        (31, "password = 'x'", (31,)),
        (3, "pass", (3,)),
        (16, "pass", ()),
        (2, "return total", (2,)),
        (2, "count", ()),
        (2, "return nothing at all", ()),
        (2, "", ()),
        (1, "import os", ()),
        (34, "return total / count", ()),
        (32, '200: "OK",', (32,)),
        (32, '   32|     200: "OK",', (32,)),
        (33, "404| 7", (33,)),
        (33, "   33| 404| 7", (33,)),
        (0, "return total / count", ()),
    ],
)
def test_finding_is_placed_by_its_quote(line: int, quote: str, found: tuple[int, ...]) -> None:
    assert placed(line, quote) == found


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip), st.booleans())
def test_quoted_line_is_found_with_or_without_its_number(line: str, is_numbered: bool) -> None:
    quote = format_line(1, line, is_reviewed=True) if is_numbered else line
    finding = a_finding(line=1).model_copy(update={"quote": quote})
    assert len(check_quotes([finding], {1: ShownLine(line, is_reviewed=True)}).findings) == 1


def test_dropped_findings_are_counted() -> None:
    findings = [a_finding(line=2), a_finding(line=2).model_copy(update={"quote": "return total / count"})]
    checked = check_quotes(findings, LINES)
    assert (len(checked.findings), checked.dropped) == (1, 1)
    assert checked.findings[0].quote == "    return total / count"


def test_range_after_the_end_loses_its_patch() -> None:
    finding = a_finding(line=31).model_copy(
        update={"end_line": 40, "quote": "password = 'x'", "replacement": "y"}
    )
    (checked,) = check_quotes([finding], LINES).findings
    assert (checked.start_line, checked.end_line, checked.replacement) == (31, 31, None)


def test_critical_needs_a_verification() -> None:
    finding = a_finding(severity=Severity.CRITICAL)
    assert cap_severity(finding).severity is Severity.HIGH
    verified = finding.model_copy(
        update={"verification": Verification(verdict=VerifiedAs.KEPT, agent="verifier")}
    )
    assert cap_severity(verified).severity is Severity.CRITICAL
