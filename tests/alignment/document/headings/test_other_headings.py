"""Headings that are underlined, and headings that hold a marker as well."""

from __future__ import annotations

import pytest

from symposia.alignment.document import AlignmentDialogue, Prose, Round, Turn, fix, lint, parse, render

UNDERLINED = """\
The title
=========

**Status**: Open

Expert Panel
------------

| Agent | Role |
|---|---|
| 🧁 Muffin | Architect |

Round 1: X
----------

Muffin 🧁
---

[TENSION T01: x]

Some words
---

Summary
=======
"""


def test_underlined_heading_is_a_heading():
    document = parse(UNDERLINED)
    assert document.title == "The title"
    assert [(it.number, it.label, it.agents) for it in document.rounds] == [(1, "X", ("Muffin",))]
    assert [it.title for it in document.sections] == ["Expert Panel", "Summary"]
    assert [(it.agent, it.round) for it in document.markers] == [("Muffin", 1)]
    assert parse(render(document)) == document


def test_rule_below_text_makes_no_heading():
    (turn,) = parse(UNDERLINED).rounds[0].turns
    assert turn.body == "Some words\n---"


def test_underlined_heading_is_reported_and_fixed():
    assert {it.code for it in lint(UNDERLINED, strict=True)} >= {
        "heading-underlined",
        "title-form",
        "round-form",
    }
    assert lint(fix(UNDERLINED)) == ()
    assert parse(fix(UNDERLINED)) == parse(UNDERLINED)


@pytest.mark.parametrize(
    "said", ["Round 1: X\n---", "Summary\n===", "Muffin 🧁\n---", "\\Round 1\n\\---", "a\nRound 1\n---"]
)
def test_underlined_text_stays_text(said):
    document = AlignmentDialogue("T", parts=(Round(1, "X", turns=(Turn("Muffin", blocks=(Prose(said),)),)),))
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("line", "rounds"),
    [
        ("### Muffin 🧁 [TENSION T01: x]", [(1, ("Muffin",))]),
        ("### Muffin 🧁 — [TENSION T01: x]", [(1, ("Muffin",))]),
        ("### 🧁 **Muffin** [TENSION T1: x] and more", [(1, ("Muffin",))]),
        ("## Round 2: Y [TENSION T01: x]", [(1, ()), (2, ())]),
    ],
)
def test_heading_with_a_marker_still_begins_its_part(line, rounds):
    text = f"# T\n\n## Round 1: X\n\n{line}\n\n[RESOLVED T01: y]\n"
    document = parse(text)
    assert [(it.number, it.agents) for it in document.rounds] == rounds
    assert [it.ids for it in document.markers] == [("T01",), ("T01",)]
    assert {(it.agent, it.round) for it in document.markers} == {
        (rounds[-1][1][0] if rounds[-1][1] else None, rounds[-1][0])
    }
    assert parse(fix(text)) == document == parse(render(document))
