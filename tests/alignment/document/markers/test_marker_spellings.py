"""Spellings of markers that are further from the canonical one: other ids, other signs, other places."""

from __future__ import annotations

import pytest

from symposia.alignment.document import MarkerType, lint, parse, parse_markers, render

SPELLINGS = {
    "[TENSION 1: x]": ("tension", "T01"),
    "[Perspective 3: x]": ("perspective", "P03"),
    "[RESOLVED 1, 2 and 3]": ("resolved", "T01 T02 T03"),
    "[RESOLVED T1, 2 and 3]": ("resolved", "T01 T02 T03"),
    "[CONCESSION 2: x]": ("concession", "C02"),
    "[TENSION #1: x]": ("tension", "T01"),
    "[TENSION T.1: x]": ("tension", "T01"),
    "[TENSION T 1: x]": ("tension", "T01"),
    "[TENSION T_01: x]": ("tension", "T01"),
    "[TENSION T01; x]": ("tension", "T01"),
    "[TENSION T01. x]": ("tension", "T01"),
    "[TENSION T01 | x]": ("tension", "T01"),
    "[TENSION T01, 3 options remain]": ("tension", "T01"),
    "[RESOLVED @Muffin T01: x]": ("resolved", "T01"),
    "[RESOLVED T01~T04]": ("resolved", "T01 T02 T03 T04"),
    "[RESOLVED T01～T04]": ("resolved", "T01 T02 T03 T04"),
    "[RESOLVED T01…T03]": ("resolved", "T01 T02 T03"),
    "[RESOLVED T01|T02]": ("resolved", "T01 T02"),
    "[REFINEMENT P01→P02: x]": ("refinement", "P01 P02"),
    "[REFINEMENT P01 -> P02: x]": ("refinement", "P01 P02"),
    "[REFINEMENT P01 => P04: x]": ("refinement", "P01 P04"),
    "［TENSION T01: x］": ("tension", "T01"),
    "【TENSION T01：x】": ("tension", "T01"),
    "［ＴＥＮＳＩＯＮ　Ｔ０１：x］": ("tension", "T01"),
    "| Muffin | [TENSION T01: x] |": ("tension", "T01"),
    "- [ ] [TENSION T01: x]": ("tension", "T01"),
    "> > [TENSION T01: x]": ("tension", "T01"),
    "[TENSION T01: x](#t01)": ("tension", "T01"),
    "[TENSION T01](#t01): x": ("tension", "T01"),
    '[TENSION "T01": x]': ("tension", "T01"),
    "[PERSPECTIVE 'P1': x]": ("perspective", "P01"),
    "[RESOLVED “T01, T02”: x]": ("resolved", "T01 T02"),
    '[CONCESSION "T01" — x]': ("concession", "T01"),
    "[[TENSION T01: x]](#t01)": ("tension", "T01"),
    "- a\n\n    [TENSION T01: x]": ("tension", "T01"),
    "words\n    [TENSION T01: x]": ("tension", "T01"),
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_marker_spelling_is_read_and_reported(text):
    (marker,) = parse_markers(text)
    assert (marker.type.value, " ".join(marker.ids)) == SPELLINGS[text]
    assert "marker-form" in {it.code for it in lint(f"# T\n\n## Round 1: X\n\n{text}\n", strict=True)}
    document = parse(text)
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    "text", ["[TENSION T01](#t01): x", '[TENSION "T01": x]', "[TENSION “T01”] : x", "[TENSION 'T01'] — x"]
)
def test_quotes_and_links_around_an_id_are_dropped(text):
    (marker,) = parse(text).markers
    assert str(marker) == "[TENSION T01: x]"


def test_quotation_that_begins_with_an_id_is_a_label():
    (marker,) = parse_markers('[TENSION "T01 is odd": x]')
    assert (marker.ids, marker.label) == ((), '"T01 is odd": x')


@pytest.mark.parametrize(
    "text",
    [
        "[TENSION T0N: x]",
        "[TENSION T0n]",
        "[TENSION T1X: x]",
        "[TENSION ID: x]",
        "[PERSPECTIVE NN: x]",
        "[TENSION ...: x]",
        "[Tension 1]",
        "[TENSION T01](#t01)",
        "[TENSION T01](#t01) and (so on): x",
        "[CONCESSION](#c): x",
        "    [TENSION T01: x]",
        "\t[TENSION T01: x]",
        "words\n\n    code\n\n    [TENSION T01: x]",
        r"| \[TENSION T01: x] |",
        "| `[TENSION T01: x]` |",
        "\\［TENSION T01: x］",
    ],
)
def test_other_text_is_no_marker(text):
    assert parse_markers(text) == ()
    document = parse(text)
    assert parse(render(document)) == document


def test_tracker_rows_are_not_markers():
    tracker = "| ID | Tension |\n|---|---|\n| T01 | [TENSION T01: x] |\n"
    document = parse(f"# T\n\n## Tensions Tracker\n\n{tracker}")
    assert document.markers == ()
    assert parse(render(document)) == document


def test_table_marker_belongs_to_its_turn_and_line():
    text = "# T\n\n## Round 2: X\n\n### Muffin 🧁\n\n| a | b |\n|---|---|\n| [TENSION T1: x] | [RESOLVED T2: y] |\n"
    found = [(it.type, it.ids, it.agent, it.round, it.line) for it in parse(text).markers]
    assert found == [
        (MarkerType.TENSION, ("T01",), "Muffin", 2, 9),
        (MarkerType.RESOLVED, ("T02",), "Muffin", 2, 9),
    ]


def test_indented_fence_is_text_except_in_a_list():
    assert len(parse_markers("words\n\n    ```\n\n[TENSION T01: x]")) == 1
    assert parse_markers("- words\n\n    ```\n\n[TENSION T01: x]") == ()
