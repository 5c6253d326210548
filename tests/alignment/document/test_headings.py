"""Headings of rounds and of the judge, in all accepted spellings."""

from __future__ import annotations

import pytest

from symposia.alignment.document import AlignmentDialogue, Prose, Round, Turn, fix, lint, parse, render, scan

ROUNDS = {
    "## Round 1: Opening": (1, "Opening"),
    "## Round 0": (0, ""),
    "##   Round   2 :  Spaced   out  ##": (2, "Spaced out"),
    "## ROUND 3: X": (3, "X"),
    "## round three: X": (3, "X"),
    "## **Round 3**: X": (3, "X"),
    "## 🔄 Round 3: X": (3, "X"),
    "##Round 4: X": (4, "X"),
    "# Round 4: X": (4, "X"),
    "### Round 4: X": (4, "X"),
    "## Round II": (2, ""),
    "## ROUND IV — X": (4, "X"),
    "## Round １：X": (1, "X"),
    "## Round 2 (Deep dive)": (2, "Deep dive"),
    "## Round 2 - Deep dive": (2, "Deep dive"),
    "## Round 2 of 3: X": (2, "X"),
    "## Round 1/3 (X)": (1, "X"),
    "## Round 2 Trade-offs": (2, "Trade-offs"),
    "## Round 2: Was it skipped?": (2, "Was it skipped?"),
    "## Round 2024: Budget": (2024, "Budget"),
    "## [Round 1](#x)": (1, ""),
    "## [Round 1: X](#x)": (1, "X"),
    "## `Round 1`": (1, ""),
    '## <a id="r1"></a>Round 1': (1, ""),
    "## First Round: X": (1, "X"),
    "## The Second Round": (2, ""),
    "## 3rd Round": (3, ""),
    "## Opening Round": (0, "Opening Round"),
    "## Opening Arguments (Round 0)": (0, "Opening Arguments"),
    "## Debate — Round 3: X": (3, "Debate: X"),
    "**Round 1: X**": (1, "X"),
    "__Round 1__": (1, ""),
}


@pytest.mark.parametrize("line", ROUNDS)
def test_round_is_read_in_this_spelling(line):
    text = f"# T\n\n{line}\n\n### Muffin 🧁\n\n[TENSION T01: x]\n"
    document = parse(text)
    assert [(it.number, it.label, it.agents) for it in document.rounds] == [(*ROUNDS[line], ("Muffin",))]
    assert [it.round for it in document.markers] == [ROUNDS[line][0]]
    assert parse(render(document)) == document
    assert fix(text).split("\n")[2] == render(document).split("\n")[2]


@pytest.mark.parametrize(
    "line",
    [
        "## Rounds 1 and 2",
        "## Round 1 & 2",
        "## Round 1-2: X",
        "## Round X: Y",
        "## Round table",
        "## Round 1.5",
        "## Round 1 Summary",
        "## Open questions (Round 1)",
        "## R2D2",
        "## Round 2 was skipped",
        "## Round 2024 budget",
        "## Final Round Results",
        "> ## Round 1",
        "    ## Round 1",
        "**Round 1 Summary**",
        "**Round 1**: in a sentence",
    ],
)
def test_other_heading_begins_no_round(line):
    document = parse(f"# T\n\n{line}\n\nwords\n")
    assert document.rounds == ()
    assert parse(render(document)) == document


def test_round_without_a_number_follows_the_last_one():
    text = "# T\n\n## Round 1: X\n\n## Round 2: Y\n\n## Final Round: The vote\n"
    assert [(it.number, it.label) for it in parse(text).rounds][-1] == (3, "Final Round: The vote")
    assert [it.round for it in scan(text) if it.round is not None][-1] == 3


def test_bold_line_begins_a_round_if_no_heading_does():
    text = "# T\n\n**Round 1**\n\nwords\n\n{}**Round 2**\n\nmore\n"
    assert [it.number for it in parse(text.format("")).rounds] == [1, 2]
    assert [it.number for it in parse(text.format("## Round 7: X\n\n")).rounds] == [7]


@pytest.mark.parametrize("title", ["Round 2 was skipped", "Round 2024 budget"])
def test_section_title_may_mention_a_round(title):
    text = f"# T\n\n## Round 1: X\n\n### Muffin 🧁\n\nx\n\n## {title}\n\nwords\n"
    document = parse(text)
    assert ([it.number for it in document.rounds], [it.title for it in document.sections]) == ([1], [title])
    assert render(document) == text


@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("## 💙 Judge: Round 0 Assessment", "Round 0 Assessment"),
        ("## 💙 Judge — Round 1 Summary", "Round 1 Summary"),
        ("## 💙 Judge Round 0 Summary", "Round 0 Summary"),
        ("### 💙 Judge Synthesis — Round 1", "Synthesis — Round 1"),
        ("### Judge Synthesis", "Synthesis"),
        ("## Judge: Ruling", "Ruling"),
        ("## Judge", ""),
        ("## ⚖️ Judge: Ruling", "Ruling"),
    ],
)
def test_judge_is_read_from_this_heading(heading, label):
    assert [it.label for it in parse(f"# T\n\n## Round 1: X\n\n{heading}\n\nWell.").judge] == [label]


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


def test_underlined_heading_is_read_and_fixed():
    document = parse(UNDERLINED)
    assert document.title == "The title"
    assert [(it.number, it.label, it.agents) for it in document.rounds] == [(1, "X", ("Muffin",))]
    assert [it.title for it in document.sections] == ["Expert Panel", "Summary"]
    assert [(it.agent, it.round) for it in document.markers] == [("Muffin", 1)]
    assert document.rounds[0].turns[0].body == "Some words\n---", "a rule below text makes no heading"
    assert parse(render(document)) == document == parse(fix(UNDERLINED))
    assert {"heading-underlined", "title-form", "round-form"} <= {it.code for it in lint(UNDERLINED)}
    assert lint(fix(UNDERLINED)) == ()


@pytest.mark.parametrize(
    "said",
    [
        "Round 1: X\n---",
        "Summary\n===",
        "Muffin 🧁\n---",
        "\\Round 1\n\\---",
        "a\nRound 1\n---",
        "**Round 1**",
        "### Round 2 (Review)\n\nb",
        "## Round 9: no\n[TENSION T01: no]\n| no | no |\n```\n\\## no",
    ],
)
def test_text_like_a_heading_stays_text(said):
    turn = Turn("Muffin", blocks=(Prose(said),))
    for parts in ((Round(1, "X", turns=(turn,)),), (Round(1, blocks=(Prose(said),)),), ()):
        document = AlignmentDialogue("T", preamble=() if parts else (Prose(said),), parts=parts)
        assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("line", "rounds"),
    [
        ("### Muffin 🧁 — [TENSION T01: x]", [(1, ("Muffin",))]),
        ("### 🧁 **Muffin** [TENSION T1: x] and more", [(1, ("Muffin",))]),
        ("## Round 2: Y [TENSION T01: x]", [(1, ()), (2, ())]),
    ],
)
def test_heading_with_a_marker_still_begins_its_part(line, rounds):
    text = f"# T\n\n## Round 1: X\n\n{line}\n\n[RESOLVED T01: y]\n"
    document = parse(text)
    assert [(it.number, it.agents) for it in document.rounds] == rounds
    number, agents = rounds[-1]
    expected = [(("T01",), agents[0] if agents else None, number)] * 2
    assert [(it.ids, it.agent, it.round) for it in document.markers] == expected
    assert parse(fix(text)) == document == parse(render(document))
