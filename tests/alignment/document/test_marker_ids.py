"""Sub-ids (`T1.1`, `T04-R1`, `T-NEW`) are ids, and fixing changes no id."""

from __future__ import annotations

import pytest

from symposia.alignment.document import fix, lint, parse, parse_markers, render, tensions
from symposia.alignment.turn_marks import read_turn_marks
from symposia.models.alignment.ledger import Ledger

HEAD = "# T\n\n## Round 1: X\n\n### Muffin 🧁\n\n"

IDS = {
    "[TENSION T1.1: x]": ("T01.1", "x"),
    "[TENSION T1.1.2: x]": ("T01.1.2", "x"),
    "[TENSION T04-R1: x]": ("T04-R1", "x"),
    "[TENSION T04-R1 — x]": ("T04-R1", "x"),
    "[TENSION T04-R1-M: x]": ("T04-R1-M", "x"),
    "[TENSION T04-r1: x]": ("T04-R1", "x"),
    "[TENSION T1-a: x]": ("T01-A", "x"),
    "[TENSION T1a: x]": ("T01a", "x"),
    "[TENSION T-NEW: x]": ("T-NEW", "x"),
    "[TENSION t-new: x]": ("T-NEW", "x"),
    "[PERSPECTIVE P-NEW-1: x]": ("P-NEW-1", "x"),
    "[TENSION T01-NEW-2: x]": ("T01-NEW-2", "x"),
    "[TENSION T01-SEC: x]": ("T01-SEC", "x"),
    "[REFINEMENT P01.2: x]": ("P01.2", "x"),
    "[RESOLVED T1.1, T1.2]": ("T01.1 T01.2", ""),
    "[RESOLVED T1.1-T1.3: x]": ("T01.1 T01.2 T01.3", "x"),
    "[RESOLVED T-NEW and T04-R1]": ("T-NEW T04-R1", ""),
    "[RESOLVED MUFFIN T-NEW: x]": ("T-NEW", "x"),
    "[CONCESSION: T04-R1]": ("T04-R1", ""),
}


@pytest.mark.parametrize("text", IDS)
def test_sub_id_is_an_id_and_is_kept(text):
    (marker,) = parse_markers(text)
    assert (" ".join(marker.ids), marker.label) == IDS[text]
    document = parse(HEAD + text + "\n")
    assert parse(fix(HEAD + text + "\n")).markers == document.markers == (marker,)
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("text", "ids", "label"),
    [
        ("[TENSION T01-API versioning]", "T01", "API versioning"),
        ("[TENSION T01. Because]", "T01", "Because"),
        ("[TENSION T01-Speed]", "T01", "Speed"),
        ("[RESOLVED T01-T03: x]", "T01 T02 T03", "x"),
        ("[RESOLVED T01-03]", "T01 T02 T03", ""),
        ("[TENSION T-shirt sizes: x]", "", "T-shirt sizes: x"),
    ],
)
def test_a_range_or_a_label_is_no_sub_id(text, ids, label):
    (marker,) = parse_markers(text)
    assert (" ".join(marker.ids), marker.label) == (ids, label)


def test_sub_ids_are_distinct():
    text = HEAD + "[TENSION T1.1: x]\n\n[TENSION T1.2: y]\n\n[TENSION T-NEW: z]\n\n[RESOLVED T1.2]\n"
    assert {it.code.value for it in lint(text)} == {"marker-form"}
    assert {it.id: it.state.value for it in tensions(parse(text))} == {
        "T01.1": "open",
        "T01.2": "resolved",
        "T-NEW": "open",
    }


def test_an_unknown_word_id_is_reported():
    text = HEAD + "[TENSION T-NEW: z]\n\n[RESOLVED T-OLD: x]\n"
    assert [(it.code.value, it.line) for it in lint(text)] == [("tension-unknown", 9)]


def test_a_tracker_may_list_sub_ids():
    tracker = "\n## Tensions Tracker\n\n| ID | Tension | Status |\n|---|---|---|\n| T1.1 | x | Open |\n| T-NEW | y | Open |\n"
    text = HEAD + "[TENSION T1.1: x]\n\n[TENSION T-NEW: y]\n\n[RESOLVED T1.1]\n" + tracker
    assert [it.code.value for it in lint(text, strict=True) if it.code.value != "marker-form"] == [
        "tension-status"
    ]


def test_the_ledger_keeps_sub_ids_apart():
    ledger = Ledger().after_turn(
        1, "ann", read_turn_marks(["[TENSION T1.1: x]\n[TENSION T1.2: y]"]), experts=("ann",)
    )
    ledger = ledger.after_turn(2, "ann", read_turn_marks(["[RESOLVED T1.2]"]), experts=("ann",))
    assert [(it.label, it.state.value) for it in ledger.tensions] == [("x", "open"), ("y", "resolved")]
