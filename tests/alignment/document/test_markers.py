"""A marker is found in every spelling that people write, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from symposia.alignment.document import (
    AlignmentDialogue,
    Marker,
    MarkerRef,
    MarkerType,
    Metadata,
    fix,
    lint,
    parse,
    parse_markers,
    render,
)
from symposia.alignment.document.markers import find_markers
from symposia.models.errors import InvalidInput

HEAD = "# T\n\n## Round 1: X\n\n### Muffin 🧁\n\n"
#: Lines with the ids and the label of their marker; the type is the line's first word in brackets.
SPELLINGS = {
    "  [PERSPECTIVE  P01 :  Files   win ]": ("P01", "Files win"),
    "[PERSPECTIVE P1:Files win]": ("P01", "Files win"),
    "[**PERSPECTIVE P01**: Files win]": ("P01", "Files win"),
    "### [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "1. [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "> > [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "- [ ] [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "- a\n\n    [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "words\n    [PERSPECTIVE P01: Files win]": ("P01", "Files win"),
    "| Muffin | [PERSPECTIVE P01: Files win] |": ("P01", "Files win"),
    "I say [PERSPECTIVE P01: Files win] again": ("P01", "Files win"),
    "[PERSPECTIVE P01 — Files win]": ("P01", "Files win"),
    "[PERSPECTIVE P01] — Files win": ("P01", "Files win"),
    "**[PERSPECTIVE P01]** Files win": ("P01", "Files win"),
    "[Perspective P01: Files win]": ("P01", "Files win"),
    "[perspective p1: Files win]": ("P01", "Files win"),
    "[PERSPECTIVES P01, P02: both]": ("P01 P02", "both"),
    "[PERSPECTIVE 'P1': x]": ("P01", "x"),
    "[TENSION T001: wide]": ("T01", "wide"),
    "[TENSION T1 - 3 options remain]": ("T01", "3 options remain"),
    "[TENSION T01, 3 options remain]": ("T01", "3 options remain"),
    "[TENSION 1: x]": ("T01", "x"),
    "[TENSION #1: x]": ("T01", "x"),
    "[TENSION T.1: x]": ("T01", "x"),
    "[TENSION T_01: x]": ("T01", "x"),
    "[TENSION T01; x]": ("T01", "x"),
    "[TENSION T01 | x]": ("T01", "x"),
    "［TENSION T01: x］": ("T01", "x"),
    "［ＴＥＮＳＩＯＮ　Ｔ０１：x］": ("T01", "x"),
    "[TENSION T01: x](#t01)": ("T01", "x"),
    "[TENSION T01](#t01): x": ("T01", "x"),
    "[[TENSION T01: x]](#t01)": ("T01", "x"),
    '[TENSION "T01": x]': ("T01", "x"),
    "[TENSION “T01”] : x": ("T01", "x"),
    '[TENSION "T01 is odd": x]': ("", '"T01 is odd": x'),
    "[RESOLVED T3/T6/T8: all]": ("T03 T06 T08", "all"),
    "[RESOLVED T01 & T02 and T03]": ("T01 T02 T03", ""),
    "[RESOLVED T1, 2 and 3]": ("T01 T02 T03", ""),
    "[RESOLVED T01|T02]": ("T01 T02", ""),
    "[RESOLVED P01-P03]": ("P01 P02 P03", ""),
    "[RESOLVED T01–T03: range]": ("T01 T02 T03", "range"),
    "[RESOLVED T01～T04]": ("T01 T02 T03 T04", ""),
    "[RESOLVED T01-03]": ("T01 T02 T03", ""),
    "[RESOLVED T01 to T03]": ("T01 T02 T03", ""),
    "[RESOLVED — T01]": ("T01", ""),
    "[RESOLVED: T01 — because]": ("T01", "because"),
    "[RESOLVED (T03): done]": ("T03", "done"),
    "[RESOLVED tension T03: done]": ("T03", "done"),
    "[RESOLVED T03 via caching]": ("T03", "via caching"),
    "[RESOLVED by T02]": ("T02", "by T02"),
    "[CONCESSION 2: x]": ("C02", "x"),
    "[CONCESSION on T02: fair]": ("T02", "fair"),
    "[CONCESSION]: Scone is right": ("", "Scone is right"),
    "[CONCESSION to Scone: fair]": ("", "to Scone: fair"),
    "[CONCESSION to Strudel]": ("", "to Strudel"),
    "[CONCESSION to Strudel on T01]": ("T01", "to Strudel on T01"),
    "[Concession to Strudel on T01 about caching]": ("T01", "to Strudel on T01 about caching"),
    "[CONCESSION: T01]": ("T01", ""),
    "[REFINEMENT] Need a check": ("", "Need a check"),
    "[REFINEMENT R01 — narrower]": ("R01", "narrower"),
    "[REFINEMENT P01→P02: x]": ("P01 P02", "x"),
    "[REFINEMENT P01 -> P02: x]": ("P01 P02", "x"),
}  # fmt: skip
CANONICAL = {
    "[PERSPECTIVE P01: a [nested [pair]] of brackets]": ("P01", "a [nested [pair]] of brackets"),
    "[PERSPECTIVE P01: a `]` in code]": ("P01", "a `]` in code"),
    r"[PERSPECTIVE P01: a \] with a backslash]": ("P01", "a ] with a backslash"),
    "[TENSION T12: what: and why?]": ("T12", "what: and why?"),
    "[TENSION T0102: round and number]": ("T0102", "round and number"),
    "[RESOLVED T04, T05]": ("T04 T05", ""),
    "[CONCESSION: Scone is right]": ("", "Scone is right"),
    "[PERSPECTIVE P18: `blue auth check` first]": ("P18", "`blue auth check` first"),
    "[REFINEMENT: P05 — the enum]": ("", "P05 — the enum"),
}


@pytest.mark.parametrize("text", [*SPELLINGS, *CANONICAL])
def test_marker_is_read_in_this_spelling(text):
    (marker,) = parse_markers(text)
    assert (" ".join(marker.ids), marker.label) == (SPELLINGS | CANONICAL)[text]
    assert ("marker-form" in {it.code for it in lint(f"{HEAD}{text}\n")}) == (text in SPELLINGS)
    assert parse(fix(HEAD + text + "\n")).markers == (marker,)
    for document in (parse(text), parse(HEAD + text)):
        assert parse(render(document)) == document


@pytest.mark.parametrize(
    "text",
    [
        "`[TENSION T01: in code]`",
        "``a ` and [TENSION T01: in code]``",
        "| `[TENSION T01: x]` |",
        "    [TENSION T01: x]",
        "\t[TENSION T01: x]",
        "words\n\n    code\n\n    [TENSION T01: x]",
        "- words\n\n    ```\n\n[TENSION T01: x]",
        "[TENSION T01: never closed",
        "[TENSION T01: one [opens, one closes]",
        r"\[TENSION T01: behind a backslash]",
        r"| \[TENSION T01: x] |",
        "\\［TENSION T01: x］",
        "<!-- [TENSION T01: in a comment] -->",
        "[TENSION Tnn: a form]",
        "[TENSION T0N: x]",
        "[TENSION T1X: x]",
        "[TENSION ID: x]",
        "[PERSPECTIVE Pxx: a form]",
        "[PERSPECTIVE P{n}: a form]",
        "[RESOLVED T##]",
        "[CONCESSION to <name> on Tnn]",
        "[TENSION T01](#link)",
        "[TENSION T01](#t01) and (so on): x",
        "[CONCESSION](#c): x",
        "[TENSION tracker]",
        "[TENSION between T01 and T02]",
        "[CONCESSION marker]",
        "a [concession to Ada on T01]",
        "[TENSIONLESS T01: x]",
        "the word [RESOLVED] alone",
        "[resolved]",
        "[Tension 1]",
        "[Resolved: lower case and no id]",
        "[RESOLUTION T01: no marker's word]",
        "[MOVE:CONVERGE]",
        "[ ] todo",
    ],
)
def test_other_text_is_no_marker(text):
    assert parse_markers(text) == ()
    document = parse(text)
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[RESOLVED MUFFIN R1-T01: x]", [MarkerRef("T01", "MUFFIN", 1)]),
        ("[RESOLVED MUFFIN-R1-T01]", [MarkerRef("T01", "MUFFIN", 1)]),
        ("[RESOLVED MUFFIN-T01]", [MarkerRef("T01", "MUFFIN")]),
        ("[RESOLVED @Muffin T01: x]", [MarkerRef("T01", "Muffin")]),
        ("[RESOLVED Muffin's T01, Scone T02]", [MarkerRef("T01", "Muffin"), MarkerRef("T02", "Scone")]),
        ("[RESOLVED EXPERT-1 T01, Agent_2-T02]", [MarkerRef("T01", "EXPERT-1"), MarkerRef("T02", "Agent_2")]),
        ("[RESOLVED P01 T02]", [MarkerRef("P01"), MarkerRef("T02")]),
        ("[RESOLVED T01 via T02]", [MarkerRef("T01")]),
        ("[RESOLVED R0.T03]", [MarkerRef("T03", None, 0)]),
        ("[RESOLVED T01: MACARON-T01 (no rollback)]", [MarkerRef("T01")]),
    ],
)
def test_marker_id_may_name_its_owner_and_round(text, found):
    (marker,) = parse_markers(text)
    assert list(marker.refs) == found


def test_several_markers_of_a_line_keep_their_text():
    one, two = parse_markers("- [RESOLVED T01]: files win, [RESOLVED T02]: and tables follow")
    assert (one.label, one.column, two.label, two.column) == ("files win,", 3, "and tables follow", 30)


def test_marker_carries_its_agent_round_and_line():
    text = "````md\n[TENSION T01: x]\n```\n[TENSION T02: x]\n````\n[TENSION T03: y]"
    (marker,) = parse_markers(text, agent="Muffin", round=2)
    assert (marker.ids, marker.agent, marker.round, marker.line) == (("T03",), "Muffin", 2, 6)
    assert len(parse_markers("words\n\n    ```\n\n[TENSION T01: x]")) == 1


def test_marker_inside_another_belongs_to_its_label():
    (marker,) = parse_markers("[TENSION T01: after [RESOLVED T02: x]]")
    assert marker.label == "after [RESOLVED T02: x]"


def test_table_marker_belongs_to_its_turn_and_line():
    text = f"{HEAD}| a | b |\n|---|---|\n| [TENSION T1: x] | [RESOLVED T2: y] |\n"
    found = [(it.type, it.ids, it.agent, it.round, it.line) for it in parse(text).markers]
    assert found == [
        (MarkerType.TENSION, ("T01",), "Muffin", 1, 9),
        (MarkerType.RESOLVED, ("T02",), "Muffin", 1, 9),
    ]
    tracker = parse("# T\n\n## Tensions Tracker\n\n| ID | Tension |\n|---|---|\n| T01 | [TENSION T01: x] |\n")
    assert tracker.markers == ()
    assert parse(render(tracker)) == tracker


def test_unclosed_and_misspelled_markers_are_reported():
    assert find_markers("text [TENSION T01: x").unclosed == [5]
    assert find_markers("[RESOLUTION T03: y]").near == [(0, 11, "RESOLVED")]


def test_marker_that_needs_an_id_cannot_be_empty():
    with pytest.raises(InvalidInput, match="must have an id"):
        Marker(MarkerType.TENSION)


@pytest.mark.parametrize("head", ["", "# T\n\n", "# T\n\n**Status**: Open\n"])
@pytest.mark.parametrize(
    "line", ["**[TENSION T01]**: Speed", "- **[TENSION T1]:** Speed", "**[TENSION T01: Speed]**: x"]
)
def test_bold_marker_among_metadata_is_a_marker(head, line):
    document = parse(head + line + "\n")
    assert [(it.ids, it.label) for it in document.markers] == [(("T01",), "Speed")]
    assert parse(render(document)) == document


def test_metadata_key_may_look_like_a_marker():
    document = AlignmentDialogue("T", (Metadata("[TENSION T01]", "x"), Metadata("a [TENSION T01: b] c")))
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("- **[PERSPECTIVE]**: Speed", ["Speed"]),
        ("[PERSPECTIVE: ]: Speed", ["Speed"]),
        ("[TENSION]: Speed [RESOLVED]: T01", ["Speed", ""]),
        ("[TENSION]:", []),
        ("[TENSION]:\u2028", []),
        ("[TENSION:]: [RESOLVED]", []),
    ],
)
def test_marker_without_id_and_label_is_harmless(line, labels):
    document = parse(f"# T\n\n## S\n\n{line}\n")
    assert [it.label for it in document.markers] == labels
    assert parse(render(document)) == document
    assert "id-missing" in {it.code for it in lint(line)} or "Speed" not in labels


@pytest.mark.parametrize("label", ["{", "{id}", "<id>", "{a} and {b}"])
def test_label_like_a_placeholder_is_read_back(label):
    marker = Marker(MarkerType.PERSPECTIVE, label=label)
    assert parse_markers(str(marker)) == (marker,)


def test_fixing_keeps_emphasis_beside_a_marker():
    text = "# T\n\n**a** [TENSION T1: x] **b** c **[TENSION T02: y]** *d*\n[RESOLVED T01]: **e** f\n**[RESOLVED T02]:** *g*\n"
    assert fix(text) == (
        "# T\n\n**a**\n[TENSION T01: x]\n**b** c\n[TENSION T02: y]\n*d*\n"
        "[RESOLVED T01: **e** f]\n[RESOLVED T02: *g*]\n"
    )
