"""A marker is found in every spelling that people write, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from symposia.alignment.document import (
    AlignmentDialogue,
    Marker,
    MarkerRef,
    MarkerType,
    Metadata,
    lint,
    parse,
    parse_markers,
    render,
)
from symposia.alignment.document.markers.markers import find_markers
from symposia.models.errors import InvalidInput

SPELLINGS = {
    "[PERSPECTIVE P01: Files win]": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P1:Files win]": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE  P01 :  Files   win ]": ("perspective", "P01", "Files win"),
    "  [PERSPECTIVE P01: Files win]": ("perspective", "P01", "Files win"),
    "**[PERSPECTIVE P01: Files win]**": ("perspective", "P01", "Files win"),
    "[**PERSPECTIVE P01**: Files win]": ("perspective", "P01", "Files win"),
    "### [PERSPECTIVE P01: Files win]": ("perspective", "P01", "Files win"),
    "> [PERSPECTIVE P01: Files win]": ("perspective", "P01", "Files win"),
    "1. [PERSPECTIVE P01: Files win]": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P01 — Files win]": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P01 - Files win]": ("perspective", "P01", "Files win"),
    "[Perspective P01: Files win]": ("perspective", "P01", "Files win"),
    "[perspective p1: Files win]": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P01]: Files win": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P01] — Files win": ("perspective", "P01", "Files win"),
    "**[PERSPECTIVE P01]** Files win": ("perspective", "P01", "Files win"),
    "I say [PERSPECTIVE P01: Files win] again": ("perspective", "P01", "Files win"),
    "[PERSPECTIVE P01: a [nested [pair]] of brackets]": ("perspective", "P01", "a [nested [pair]] of brackets"),
    "[PERSPECTIVE P01: a `]` in code]": ("perspective", "P01", "a `]` in code"),
    r"[PERSPECTIVE P01: a \] with a backslash]": ("perspective", "P01", "a ] with a backslash"),
    "[PERSPECTIVE P18: `blue auth check` first]": ("perspective", "P18", "`blue auth check` first"),
    "[PERSPECTIVES P01, P02: both]": ("perspective", "P01 P02", "both"),
    "[TENSION T12: what: and why?]": ("tension", "T12", "what: and why?"),
    "[TENSION T001: wide]": ("tension", "T01", "wide"),
    "[TENSION T0102: round and number]": ("tension", "T0102", "round and number"),
    "[TENSION T1-M: initial]": ("tension", "T01-M", "initial"),
    "[TENSION T1 - 3 options remain]": ("tension", "T01", "3 options remain"),
    "[RESOLVED T04, T05]": ("resolved", "T04 T05", ""),
    "[RESOLVED T3/T6/T8: all]": ("resolved", "T03 T06 T08", "all"),
    "[RESOLVED T01 & T02 and T03]": ("resolved", "T01 T02 T03", ""),
    "[RESOLVED P01-P03]": ("resolved", "P01 P02 P03", ""),
    "[RESOLVED T01–T03: range]": ("resolved", "T01 T02 T03", "range"),
    "[RESOLVED T01-03]": ("resolved", "T01 T02 T03", ""),
    "[RESOLVED T01 to T03]": ("resolved", "T01 T02 T03", ""),
    "[RESOLVED — T01]": ("resolved", "T01", ""),
    "[RESOLVED: T01]": ("resolved", "T01", ""),
    "[RESOLVED: T01 — because]": ("resolved", "T01", "because"),
    "[RESOLVED (T03): done]": ("resolved", "T03", "done"),
    "[RESOLVED tension T03: done]": ("resolved", "T03", "done"),
    "[RESOLVED T03 via caching]": ("resolved", "T03", "via caching"),
    "[CONCESSION on T02: fair]": ("concession", "T02", "fair"),
    "[CONCESSION: Scone is right]": ("concession", "", "Scone is right"),
    "[CONCESSION]: Scone is right": ("concession", "", "Scone is right"),
    "- [CONCESSION]: Scone is right": ("concession", "", "Scone is right"),
    "[CONCESSION to Scone: fair]": ("concession", "", "to Scone: fair"),
    "[CONCESSION: T01]": ("concession", "T01", ""),
    "[REFINEMENT] Need a check": ("refinement", "", "Need a check"),
    "[REFINEMENT: P05 — the enum]": ("refinement", "", "P05 — the enum"),
    "[REFINEMENT R01: narrower]": ("refinement", "R01", "narrower"),
}  # fmt: skip


@pytest.mark.parametrize("line", SPELLINGS)
def test_a_marker_is_read_in_this_spelling(line):
    kind, ids, label = SPELLINGS[line]
    (marker,) = parse_markers(line)
    assert (marker.type.value, " ".join(marker.ids), marker.label) == (kind, ids, label)


@pytest.mark.parametrize(
    "line",
    [
        "`[TENSION T01: in code]`",
        "``a ` and [TENSION T01: in code]``",
        "[TENSION T01: never closed",
        "[TENSION T01: one [opens, one closes]",
        r"\[TENSION T01: behind a backslash]",
        "<!-- [TENSION T01: in a comment] -->",
        "[TENSION Tnn: a form]",
        "[PERSPECTIVE Pxx: a form]",
        "[PERSPECTIVE P{n}: a form]",
        "[RESOLVED T##]",
        "[TENSION T01](#link)",
        "[TENSION tracker]",
        "[TENSIONLESS T01: x]",
        "the word [RESOLVED] alone",
        "[resolved]",
        "[Resolved: lower case and no id]",
        "[CHALLENGE: no marker's word]",
        "[RESOLUTION T01: no marker's word]",
        "[MOVE:CONVERGE]",
        "[Awaiting response]",
        "[ ] todo",
    ],
)
def test_other_text_is_no_marker(line):
    assert parse_markers(line) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[RESOLVED MUFFIN R1-T01: x]", [MarkerRef("T01", "MUFFIN", 1)]),
        ("[RESOLVED MUFFIN-T01]", [MarkerRef("T01", "MUFFIN")]),
        ("[RESOLVED Muffin's T01, Scone T02]", [MarkerRef("T01", "Muffin"), MarkerRef("T02", "Scone")]),
        ("[RESOLVED EXPERT-1 T01, Agent_2-T02]", [MarkerRef("T01", "EXPERT-1"), MarkerRef("T02", "Agent_2")]),
        ("[RESOLVED MUFFIN-R1-T01]", [MarkerRef("T01", "MUFFIN", 1)]),
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


def test_markers_inside_a_fence_do_not_count():
    text = "````md\n[TENSION T01: x]\n```\n[TENSION T02: x]\n````\n[TENSION T03: y]"
    assert [(m.ids, m.line) for m in parse_markers(text, agent="Muffin", round=2)] == [(("T03",), 6)]


def test_markers_carry_their_agent_and_round():
    (marker,) = parse_markers("[TENSION T01: y]", agent="Muffin", round=2)
    assert (marker.agent, marker.round) == ("Muffin", 2)


def test_a_marker_inside_another_belongs_to_its_label():
    (marker,) = parse_markers("[TENSION T01: after [RESOLVED T02: x]]")
    assert marker.label == "after [RESOLVED T02: x]"


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
        ("[TENSION]: Speed", ["Speed"]),
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
