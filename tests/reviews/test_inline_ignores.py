"""Comments suppress findings on their line and, if alone, on the next one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_tools.values import a_finding, a_result, a_run
from symposia.reviews.comparing import compare_run
from symposia.reviews.findings import baseline_of
from symposia.reviews.values.checks import read_ignore, with_ignores
from symposia.reviews.values.findings import Finding, FindingStatus, Suppression


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
