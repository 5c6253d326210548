"""Spellings of rounds that are further from the canonical one: other numerals, other words, no heading at all."""

from __future__ import annotations

import pytest

from symposia.alignment.document import AlignmentDialogue, Prose, Round, fix, parse, render, scan

ROUNDS = {
    "## Round II": (2, ""),
    "## ROUND IV — X": (4, "X"),
    "## Round-1: X": (1, "X"),
    "## Round1: X": (1, "X"),
    "## Round_1": (1, ""),
    "## Round: 1": (1, ""),
    "## Round #2": (2, ""),
    "## Round (1)": (1, ""),
    "## Round [1]: X": (1, "X"),
    "## Round No. 1": (1, ""),
    "## Round number 1": (1, ""),
    "## Round 2b": (2, "2b"),
    "## Round 2b: X": (2, "2b: X"),
    "## Round １：X": (1, "X"),
    "## Round\u00a01 — X": (1, "X"),
    "## Round ②": (2, ""),
    "## Round 1️⃣": (1, ""),
    "## Round fifteen": (15, ""),
    "## Round twenty": (20, ""),
    "## 1. Round 1": (1, ""),
    "## 2) Round 2: X": (2, "X"),
    "## [Round 1](#x)": (1, ""),
    "## [Round 1: X](#x)": (1, "X"),
    "## **Round 1: X**": (1, "X"),
    "## ~~Round 1~~": (1, ""),
    "## `Round 1`": (1, ""),
    '## <a id="r1"></a>Round 1': (1, ""),
    "## Round 1 {#round-1}": (1, ""),
    "## Round 1 <!-- x -->": (1, ""),
    "## Round 1 ##": (1, ""),
    "## Round 1 -> X": (1, "X"),
    "## Round 1 • X": (1, "X"),
    "## 🥊 Round 1 🥊 X": (1, "X"),
    "## Round 1 (of 3): X": (1, "X"),
    "## Round 2 [of 3]": (2, ""),
    "## R2": (2, ""),
    "## Round 2: Was it skipped?": (2, "Was it skipped?"),
    "## Round 2 (was skipped)": (2, "was skipped"),
    "## Round 2 Trade-offs": (2, "Trade-offs"),
    "## Round 2024": (2024, ""),
    "## Round 2024: Budget": (2024, "Budget"),
    "## First Round: X": (1, "X"),
    "## The Second Round": (2, ""),
    "## 3rd Round": (3, ""),
    "## Opening Round": (0, "Opening Round"),
    "## Final Round (3)": (3, "Final Round"),
    "## Final Round: Round 3": (3, "Final Round"),
    "## Discussion Round 2: X": (2, "Discussion: X"),
    "## Debate — Round 3: X": (3, "Debate: X"),
    "**Round 1: X**": (1, "X"),
    "__Round 1__": (1, ""),
}


@pytest.mark.parametrize("line", ROUNDS)
def test_a_round_is_read_in_this_spelling(line):
    text = f"# T\n\n{line}\n\n### Muffin 🧁\n\n[TENSION T01: x]\n"
    document = parse(text)
    assert [(it.number, it.label, it.agents) for it in document.rounds] == [(*ROUNDS[line], ("Muffin",))]
    assert [it.round for it in document.markers] == [ROUNDS[line][0]]
    assert parse(render(document)) == document
    assert fix(text).split("\n")[2] == render(document).split("\n")[2]


@pytest.mark.parametrize(
    "line",
    [
        "## Round 1-2: X",
        "## Rounds 1 and 2",
        "## Round 1 & 2",
        "## Round 1’s lessons",
        "## Round X: Y",
        "## Round N",
        "## Round - 3 things",
        "## Round table",
        "## Open questions (Round 1)",
        "## Decisions — Round 1",
        "## R2D2",
        "## Round 2 was skipped",
        "## Round 2 is not needed",
        "## ROUND II WASN’T HELD",
        "## Round 2 cannot start",
        "## Second Round did not happen",
        "## Discussion Round 2 was short",
        "## Round 2024 budget",
        "## First round results",
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


def test_bold_sentence_like_a_round_stays_text():
    document = AlignmentDialogue("T", parts=(Round(3, blocks=(Prose("**Round 1**"),)),))
    assert parse(render(document)) == document
    document = AlignmentDialogue("T", preamble=(Prose("**Round 1**"),))
    assert parse(render(document)) == document


@pytest.mark.parametrize("title", ["Round 2 was skipped", "Round 2024 budget"])
def test_section_title_may_mention_a_round(title):
    text = f"# T\n\n## Round 1: X\n\n### Muffin 🧁\n\nx\n\n## {title}\n\nwords\n"
    document = parse(text)
    assert ([it.number for it in document.rounds], [it.title for it in document.sections]) == ([1], [title])
    assert render(document) == text
