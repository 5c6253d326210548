"""Lines that look like a round or a turn but are none are reported."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings

from documents.dialogues import documents, markdown
from scaling import scaled_examples
from symposia.alignment.document import AlignmentDialogue, Prose, Round, fix, lint, parse, render
from symposia.alignment.document.specification import example

often = settings(
    max_examples=scaled_examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
PANEL = "# T\n\n**Participants**: Muffin 🧁, Scone 🦊\n\n"


def unread(text: str) -> list[tuple[str, int, str | None]]:
    found = [(it.code.value, it.line, it.fix_hint) for it in lint(text, strict=True)]
    return [it for it in found if it[0] in ("round-unread", "turn-unread")]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("> ## Round 1", "## Round 1"),
        ("> > ### Round II — X", "## Round 2: X"),
        ("##### Round 1", "## Round 1"),
        ("<h2>Round 1</h2>", "## Round 1"),
        ('<H3 id="r1">Round 1: X</H3>', "## Round 1: X"),
        ("**Round 1**: X", "## Round 1: X"),
        ("**Round 1:** X", "## Round 1: X"),
        ("Round 1: X", "## Round 1: X"),
        ("Round 1 — X", "## Round 1: X"),
        ("## Round 1 (X)", "## Round 1: X"),
        ("ROUND ONE", "## Round 1"),
    ],
)
def test_round_lookalike_is_reported_without_rounds(line, heading):
    text = f"# T\n\nWords.\n\n{line}\n\nWords.\n"
    assert unread(text) == [("round-unread", 5, heading)]
    assert [it[::2] for it in unread(render(parse(text)))] == [("round-unread", heading)]
    assert unread(f"{text}\n## Round 2: Y\n\n### Muffin 🧁\n\nx\n") == []
    assert [it[2] for it in unread(fix(text))] == [heading], "whether it is one is not for a machine to say"
    assert [it.number for it in parse(text.replace(line, heading)).rounds] == [int(heading[9])]


def test_title_may_name_a_round():
    assert unread("# Round 1 — Muffin\n\nWords of one expert alone.\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "Round 1 was short.",
        "In Round 1: nothing",
        "**Round**: 1",
        "**Rounds**: 3",
        "Rounds 1 and 2: X",
        "Round trips: 3",
        "- Round 1: an agenda",
        "| Round 1 | X |",
        "See [Round 1](#r1)",
        "    Round 1: code",
        "```\nRound 1: code\n```",
        "<!--\nRound 1: X\n-->",
        "\\Round 1: X",
        "\\> ## Round 1",
        "**Round 1 Summary**",
        "## Round 2 was skipped",
        "## Round 2024 budget",
        "## Open questions (Round 1)",
    ],
)
def test_line_about_rounds_is_not_reported(line):
    text = f"# T\n\nWords.\n\n{line}\n\nWords.\n"
    assert unread(text) == unread(render(parse(text))) == []


@pytest.mark.parametrize(
    "said", ["## Round 1", "### Round 1: X", "**Round 1: X**", "Round 1: X\n---", "### Muffin 🧁"]
)
def test_plain_text_is_not_reported_as_a_heading(said):
    for document in (
        AlignmentDialogue("T", preamble=(Prose(said),)),
        AlignmentDialogue("T", parts=(Round(1, blocks=(Prose(said),)), Round(2, blocks=(Prose(said),)))),
    ):
        assert [it for it in unread(render(document)) if it[2] != "## Round 1: X"] == []
        assert parse(render(document)) == document


@pytest.mark.parametrize(
    ("heading", "hint"),
    [
        ("### Muffin & Scone", "### Muffin 🧁 — with Scone"),
        ("### Scone and Muffin", "### Scone 🦊 — with Muffin"),
        ("### muffin + **Scone**", "### Muffin 🧁 — with Scone"),
    ],
)
def test_heading_of_several_experts_is_reported(heading, hint):
    text = f"{PANEL}## Round 1: X\n\n{heading}\n\nWords.\n\n"
    assert unread(text) == [("turn-unread", 7, hint)]
    assert unread(text + "### Scone 🦊\n\nx\n") == [("turn-unread", 7, hint)]
    assert unread(render(parse(text))) == [("turn-unread", 7, hint)]
    mended = text.replace(heading, hint)
    assert unread(mended) == []
    assert [it.agents for it in parse(mended).rounds] == [(hint.split()[1],)]


def test_bare_names_in_several_rounds_are_reported():
    said = "## Round {}: X\n\n### Alice\n\na\n\n### Bob\n\nb\n\n"
    text = "# T\n\n" + said.format(1) + said.format(2)
    assert unread(text) == [
        ("turn-unread", 5, "### Alice 🧁"),
        ("turn-unread", 9, "### Bob 🧁"),
        ("turn-unread", 15, "### Alice 🧁"),
        ("turn-unread", 19, "### Bob 🧁"),
    ]
    assert unread("# T\n\n" + said.format(1)) == []
    alone = "## Round {}: X\n\n### Alice\n\n[TENSION T01: x]\n\n"
    assert ("turn-unread", 11, "### Alice 🧁") in unread("# T\n\n" + alone.format(1) + alone.format(2))
    assert unread(text.replace("### ", "\\### ")) == []


@pytest.mark.parametrize(
    "heading", ["Summary", "Open Questions", "What we know", "the plan", "3 options", "✅ Done"]
)
def test_topic_heading_is_not_reported(heading):
    said = f"## Round {{}}: X\n\n### {heading}\n\na\n\n"
    assert unread("# T\n\n" + said.format(1) + said.format(2)) == []


PROPOSAL = "## Round {}: Proposal\n\n### {}\n\na\n\n### Hermes\n\nb\n\n"


@pytest.mark.parametrize("topic", ["What changes", "Option A: files", "the API"])
def test_headings_of_a_proposal_are_not_reported(topic):
    assert unread("# T\n\n" + PROPOSAL.format(1, topic) + PROPOSAL.format(2, topic)) == []


def test_unknown_name_is_a_topic_if_experts_are_named():
    said = PROPOSAL.format(1, "Apollo") + PROPOSAL.format(2, "Apollo")
    assert unread(PANEL + said) == []
    assert unread("# T\n\n" + said + "## Round 3: X\n\n### Muffin 🧁\n\nc\n") == []
    assert len(unread("# T\n\n" + said)) == 4


def test_example_has_no_lookalikes():
    assert unread(render(example())) == []


@given(documents)
@often
def test_valid_document_has_no_lookalikes(document):
    names = [turn.agent for part in document.rounds for turn in part.turns]
    assume(not any(re.match(r"round \d", name, re.IGNORECASE) for name in names))
    codes = {it[0] for it in unread(render(document))}
    assert not document.rounds or "round-unread" not in codes
    assert "turn-unread" not in codes or not all(it.turns for it in document.rounds)


@given(markdown)
@often
def test_suggested_heading_is_read(text):
    for code, line, hint in unread(text):
        assert line > 0
        if hint is None:
            continue
        found = parse(f"# T\n\n## Round 7\n\n{hint}\n\nx\n").rounds
        assert len(found) == 2 if code == "round-unread" else len(found[0].turns) == 1
