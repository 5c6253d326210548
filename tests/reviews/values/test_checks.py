"""A model's finding must quote a line; a verifier keeps, lowers or drops findings; comments suppress them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.values import a_finding, a_result, a_run
from symposia.models.severity import Severity
from symposia.models.text.numbered_lines import ShownLine, format_line
from symposia.reviews.comparing import compare_run
from symposia.reviews.findings import baseline_of
from symposia.reviews.values.answers import UNNAMED_RULE
from symposia.reviews.values.checks import (
    cap_severity,
    check_quotes,
    parse_verdicts,
    read_ignore,
    verify_findings,
    with_ignores,
)
from symposia.reviews.values.findings import Finding, FindingStatus, Suppression, Verification, VerifiedAs

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


def reasons(text: str, *findings: Finding) -> list[str | None]:
    marked = with_ignores(findings, text)
    return [None if it.suppression is None else it.suppression.reason for it in marked]


@pytest.mark.parametrize(
    ("line", "rules", "reason"),
    [
        ("x = 1  # symposia: ignore", (), ""),
        ("x = 1  #symposia:ignore[F401]", ("F401",), ""),
        ("x(); // symposia: ignore[no-eval, no-var] generated code", ("no-eval", "no-var"), "generated code"),
        ("SELECT 1 -- symposia: ignore: our own", (), "our own"),
        ("a { } /* symposia: ignore[x] old */ b { }", ("x",), "old"),
        ("<p> <!-- Symposia: Ignore[x] a-b --> </p>", ("x",), "a-b"),
        ("# symposia: ignore[*] all", (), "all"),
        ("# symposia: ignore[] none named", (), "none named"),
    ],
)
def test_comment_names_rules_and_reason(line, rules, reason):
    found = read_ignore(line)
    assert found is not None
    assert (found.rules, found.reason) == (rules, reason)


@pytest.mark.parametrize(
    "line", ["x = 1  # noqa", "# symposia ignore", "symposia: ignore", "# symposia: ignored", "# nosec"]
)
def test_other_comments_are_no_ignores(line):
    assert read_ignore(line) is None


def test_ignore_covers_its_line_or_the_next():
    text = "# symposia: ignore[F401] why\nimport os\nimport re  # symposia: ignore\nimport sys\n"
    lines = [a_finding(line=it) for it in (1, 2, 3, 4)]
    assert reasons(text, *lines) == ["why", "why", "", None]


def test_several_ignores_above_a_line_apply():
    text = "// symposia: ignore[a] one\n// symposia: ignore[b] two\nx\ny\n"
    found = [a_finding(line=line, rule=rule) for line in (3, 4) for rule in ("a", "b", "c")]
    assert reasons(text, *found) == ["one", "two", None, None, None, None]


def test_ignore_on_the_last_line_of_a_statement_applies():
    text = "call(\n    1,\n)  # symposia: ignore[S1] why\n"
    assert reasons(text, a_finding(start_line=1, end_line=3, rule="S1")) == ["why"]


def test_rule_is_ignored_under_any_name_of_its_cause():
    text = "except Exception:  # symposia: ignore[S110]\n"
    assert reasons(text, *(a_finding(line=1, rule=it) for it in ("B110", "BLE001", "F401"))) == ["", "", None]


def test_findings_of_the_whole_item_are_not_ignored():
    assert reasons("# symposia: ignore\n", a_finding(line=0)) == [None]


def test_ignored_finding_is_suppressed_and_never_gone():
    open_one, ignored = a_finding(), a_finding(suppression=Suppression(reason="why"))
    run = compare_run(a_run(a_result(ignored)), previous=[open_one])
    assert [(it.status, it.suppression) for it in run.findings] == [
        (FindingStatus.SUPPRESSED, Suppression(reason="why"))
    ]
    assert not run.open_findings
    again = compare_run(a_run(a_result(open_one)), previous=[ignored])
    assert [it.status for it in again.findings] == [FindingStatus.NEW]
    assert compare_run(a_run(a_result()), previous=[ignored]).findings == ()
    assert '"findings": []' in baseline_of(run.findings)


def test_merged_finding_is_suppressed_if_one_of_its_parts_is():
    parts = [
        a_finding(rule="S110", message="x", suppression=Suppression(reason="why")),
        a_finding(rule="BLE001", message="y"),
    ]
    (one,) = compare_run(a_run(a_result(*parts))).findings
    assert one.status is FindingStatus.SUPPRESSED


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_line_is_read_without_an_error(line: str) -> None:
    read_ignore(f"# symposia: ignore{line}")
    with_ignores([a_finding(line=1)], line)
