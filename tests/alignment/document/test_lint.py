"""Lint reports the place, the rule and the correction; fixing changes only the form."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from documents.dialogues import documents
from scaling import scaled_examples
from symposia.alignment.document import (
    LintSeverity,
    MarkerType,
    fix,
    lint,
    parse,
    render,
    scoreboards,
    specification_markdown,
    to_sarif,
)
from symposia.alignment.document.findings import RULES, FormRule
from symposia.alignment.document.specification import example, marker_examples

HEAD = """\
# Alignment Dialogue: X

**Status**: Open

## Expert Panel

| Agent | Role |
|---|---|
| 🧁 Muffin | Architect |
| 🧁 Scone | Analyst |

"""
ROUND = "## Round 0: Opening Arguments\n\n### Muffin 🧁\n\n[TENSION T01: Speed]\n\n"

often = settings(max_examples=scaled_examples(100), deadline=None, suppress_health_check=list(HealthCheck))


def found(text: str, **options) -> list[tuple[str, int, str | None]]:
    return [(it.code.value, it.line, it.fix_hint) for it in lint(text, **options)]


def test_canonical_document_has_no_strict_finding():
    assert found(HEAD + ROUND, strict=True) == []


@pytest.mark.parametrize(
    ("line", "code", "hint"),
    [
        ("## ROUND I: Deep dive", "round-form", "## Round 1: Deep dive"),
        ("##Round 1: Deep dive", "round-form", "## Round 1: Deep dive"),
        ("### 🧁 Scone", "agent-form", "### Scone 🧁"),
        ("### Scone", "agent-form", "### Scone 🧁"),
        ("### 💙 Judge Synthesis", "judge-form", "## 💙 Judge: Synthesis"),
        ("## Judge: Ruling", "judge-form", "## 💙 Judge: Ruling"),
        ("[TENSION T2: y]", "marker-form", "[TENSION T02: y]"),
        ("- [RESOLVED T01]: done", "marker-form", "[RESOLVED T01: done]"),
        ("I say [TENSION T02: y] here", "marker-form", "I say\n[TENSION T02: y]\nhere"),
        ("**[RESOLVED T01]** done", "marker-form", "[RESOLVED T01: done]"),
        ("[TENSION T02: y] and more", "marker-form", "[TENSION T02: y]\nand more"),
        ("[TENSION T02: y] [RESOLVED T02: z]", "marker-form", "[TENSION T02: y]\n[RESOLVED T02: z]"),
        ("## Sum [TENSION T02: y]", "marker-form", "\\## Sum\n[TENSION T02: y]"),
        ("[RESOLUTION T01: done]", "marker-word", "[RESOLVED T01: done]"),
        ("[TENSION T02: y", "marker-unclosed", None),
        ("```", "fence-unclosed", None),
        ("<!-- no end", "comment-unclosed", None),
        ("# Conclusion", "section-form", "## Conclusion"),
        ("[PERSPECTIVE: no id]", "id-missing", None),
        ("[TENSION T01: again]", "id-duplicate", None),
        ("[RESOLVED T09: which?]", "tension-unknown", None),
        ("### Stranger 🧁", "agent-unknown", None),
        ("## Round 0: Again", "round-duplicate", None),
    ],
)
def test_noncanonical_line_has_a_finding(line, code, hint):
    at = (HEAD + ROUND).count("\n") + 1
    assert found(HEAD + ROUND + line + "\n") == [(code, at, hint)]
    assert {it.severity for it in lint(HEAD + ROUND + line, strict=True)} == {LintSeverity.ERROR}


def test_metadata_with_an_inner_colon_has_a_finding():
    assert found(HEAD.replace("**Status**:", "**Status:**") + ROUND) == [
        ("metadata-form", 3, "**Status**: Open")
    ]


def test_spacing_is_no_finding():
    loose = (HEAD + ROUND).replace("## Round 0: Opening", "##  Round 0 :   Opening").replace("T01: ", "T01:")
    assert found(loose, strict=True) == []


def test_table_columns_and_separator_are_checked():
    text = f"{HEAD}{ROUND}| a | b |\n|---|---|\n| 1 |\n| 1 \\| 2 | 3 |\n\n| a | b |\n| 1 | 2 |\n"
    at = (HEAD + ROUND).count("\n")
    assert found(text) == [
        ("table-columns", at + 3, None),
        ("table-separator", at + 6, "| a | b |\n|---|---|"),
    ]


def board(*rows: str, total: str) -> str:
    head = "| Agent | Wisdom | Consistency | Truth | Relationships | **Total** |\n|---|---|---|---|---|---|\n"
    return (
        f"{HEAD}## Alignment Scoreboard\n\n{head}" + "\n".join(rows) + f"\n\n**Total ALIGNMENT**: {total}\n"
    )


def test_correct_scores_have_no_finding():
    rows = ("| 🧁 Muffin | 1 | 2 | 3 | 4 | **10** |", "| 🧁 Scone | 1.5 | 2 | 3 | 4 | 10.5 |")
    assert found(board(*rows, total="20.5 / 40 (51%) ✅"), strict=True) == []


def test_wrong_scores_and_totals_are_reported():
    rows = ("| 🧁 Muffin | 1 | 2 | 3 | 4 | **11** |", "| 🧁 Scone | 1 | 2 | 3 | 4 | 10 |")
    assert found(board(*rows, total="22 points")) == [
        ("score-sum", 16, "| 🧁 Muffin | 1 | 2 | 3 | 4 | **10** |"),
        ("score-total", 19, "**Total ALIGNMENT**: 21 points"),
    ]
    assert fix(board(*rows, total="22 points")) == board(*rows, total="22 points"), (
        "a number is nobody's spelling"
    )


@pytest.mark.parametrize(
    ("total", "hint"), [("21/480", "20/480"), ("**21**", "**20**"), ("21 (51%)", "20 (51%)")]
)
def test_total_is_read_with_a_suffix(total, hint):
    text = board("| 🧁 Muffin | 1 | 2 | 3 | 4 | 10 ✅ |", "| 🧁 Scone | 1 | 2 | 3 | 4 | 10/12 |", total=total)
    assert found(text) == [("score-total", 19, f"**Total ALIGNMENT**: {hint}")]


@pytest.mark.parametrize("name", ["Total", "**Total**", "**Total ALIGNMENT**"])
def test_total_row_is_the_sum_of_the_rows_above(name):
    rows = ("| 🧁 Muffin | 1 | 2 | 3 | 4 | 10 |", "| 🧁 Scone | 1 | 2 | 3 | 4 | 10 |")
    text = board(*rows, f"| {name} | 2 | 4 | 6 | 8 | **21** |", total="20")
    assert found(text) == [("score-total", 18, f"| {name} | 2 | 4 | 6 | 8 | **20** |")]
    assert [it.sum for it in scoreboards(parse(text))] == [20]
    assert found(text.replace("**21**", "20"), strict=True) == []
    assert found(text.replace(name, "Average").replace("**21**", "10"), strict=True) == []


def bonus_board(title: str, *cells: str) -> str:
    head = f"| Agent | Wisdom | Consistency | Truth | Relationships | {title} | Total |\n|---|---|---|---|---|---|---|\n"
    return f"{HEAD}## Alignment Scoreboard\n\n{head}" + "".join(f"| 🧁 Muffin | {it} |\n" for it in cells)


@pytest.mark.parametrize(
    ("title", "cells", "total"),
    [
        ("Bonus", "1 | 2 | 3 | 4 | 5", 15),
        ("Bonus", "1 | 2 | 3 | 4 | +5", 15),
        ("**Bonus** (max 5)", "1 | 2 | 3 | 4 | **5**", 15),
        ("Penalty", "1 | 2 | 3 | 4 | 2", 8),
        ("Penalty", "1 | 2 | 3 | 4 | −2", 8),
        ("Bonus", "1 | 2 | 3 | 4 | —", 10),
        ("Creativity", "1 | 2 | 3 | 4 | 5", 15),
        ("Rank", "1 | 2 | 3 | 4 | 1", 10),
    ],
)
def test_a_total_may_include_a_further_column(title, cells, total):
    assert found(bonus_board(title, f"{cells} | {total}"), strict=True) == []
    wrong = bonus_board(title, f"{cells} | {total + 20}")
    assert [it[0] for it in found(wrong)] == ["score-sum"]


def test_a_total_without_the_bonus_is_wrong():
    assert found(bonus_board("Bonus", "1 | 2 | 3 | 4 | 5 | 10")) == [
        ("score-sum", 16, "| 🧁 Muffin | 1 | 2 | 3 | 4 | 5 | 15 |")
    ]


def test_a_bonus_after_the_total_is_not_included():
    head = "| Agent | Wisdom | Consistency | Truth | Relationships | Total | Bonus |\n|---|---|---|---|---|---|---|\n"
    assert found(f"{HEAD}## Alignment Scoreboard\n\n{head}| 🧁 Muffin | 1 | 2 | 3 | 4 | 10 | 5 |\n") == []


def test_tracker_contradicting_markers_is_reported():
    tracker = "## Tensions Tracker\n\n| ID | Tension | Status |\n|---|---|---|\n| T1 | Speed | Open |\n\n"
    text = f"{HEAD}{tracker}{ROUND}[RESOLVED T01: done]\n"
    assert [it[:2] for it in found(text)] == [("tension-status", 16)]
    assert found(text.replace("Open |\n\n## Round", "**Resolved** |\n\n## Round")) == []


def test_experts_and_rounds_may_reuse_a_number():
    text = f"{HEAD}{ROUND}### Scone 🧁\n\n[TENSION T01: own]\n\n## Round 1: Next\n\n### Scone 🧁\n\n[TENSION T01: new]\n"
    assert found(text) == []


@given(documents)
@often
def test_rendered_document_has_no_form_finding(document):
    codes = {it.code for it in lint(render(document), strict=True)}
    assert codes.isdisjoint({*FormRule} - {FormRule.NEAR_MARKER})


def test_specification_has_only_expected_findings():
    assert lint(render(example()), strict=True) == ()
    assert render(example()).strip() in specification_markdown()
    for kind, marker in marker_examples().items():
        assert f"`{marker}`" in specification_markdown()
        assert parse(f"{marker}\n").markers == (marker,)
        assert marker.type is kind
    assert {*marker_examples()} == {*MarkerType}


def test_sarif_names_file_line_rule_and_fix():
    text = f"{HEAD}{ROUND}### 🧁 Scone\n"
    log = to_sarif({"a b.md": lint(text)}, version="1.0")
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "agent-form"
    assert len(run["tool"]["driver"]["rules"]) == len(RULES)
    location = result["locations"][0]["physicalLocation"]
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("a%20b.md", 18)
    (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"]["text"] == "### Scone 🧁\n"
    jsonschema.validate(
        json.loads(json.dumps(log)), {"type": "object", "required": ["$schema", "version", "runs"]}
    )


def test_example_is_the_one_of_the_specification():
    path = Path(__file__).parents[3] / "examples" / "decision.dialogue.md"
    assert path.read_text() == render(example())
