"""A heading that mentions a round's number begins that round if experts speak under it; otherwise lint reports it."""

from __future__ import annotations

import pytest

from symposia.alignment.document import (
    AlignmentDialogue,
    Prose,
    Round,
    Turn,
    fix,
    lint,
    parse,
    render,
    scan,
)

PANEL = "# T\n\n## Expert Panel\n\n| Agent | Role |\n|---|---|\n| 🧁 Muffin | A |\n| 🧁 Scone | B |\n\n"
FIRST = "## Round 1: X\n\n### Muffin 🧁\n\na\n\n"
SAID = "Words.\n\n[TENSION T02: y]\n\n### Scone 🧁\n\n[TENSION T01: x]\n"

SECOND_ROUNDS = {
    "## Round 2 (Convergence)": "Convergence",
    "## Round 2 — Convergence": "Convergence",
    "## Round 2 - Synthesis": "Synthesis",
    "## Round 2 (Synthesis)": "Synthesis",
    "## Round 2 (Review)": "Review",
    "## Round 2 Convergence": "Convergence",
    "## Round 2 Results & Scores": "Results & Scores",
    "## Round 2 — Judge Assessment": "Judge Assessment",
    "## Round 2 was short": "was short",
    "## Round 2's verdict": "verdict",
    "## Round II (Verdict)": "Verdict",
    "## **Round 2** (Outcome)": "Outcome",
    "## Second Round (Synthesis)": "Synthesis",
    "## 2nd Round Review": "Review",
    "## R2 (Convergence)": "Convergence",
    "## R2 Convergence": "Convergence",
    "## R2 - Synthesis": "Synthesis",
    "## Convergence (Round 2)": "Convergence",
    "## Convergence Round 2": "Convergence",
    "## Review: Round 2": "Review",
    "## Synthesis — Round 2: Vote": "Synthesis: Vote",
    "## Tensions (Round 2)": "Tensions",
    "# Round 2 (Convergence)": "Convergence",
    "## Round 2 of 3 (Synthesis)": "Synthesis",
    "## 🔄 Round 2 — Review": "Review",
    "## Final Round (Synthesis)": "Final Round: Synthesis",
    "## Closing Round: Review": "Closing Round: Review",
    "### Round 2 (Convergence)": "Convergence",
    "Round 2 (Convergence)\n---": "Convergence",
}


def rounds(text: str) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(it.number, it.label, it.agents) for it in parse(text).rounds]


def found(text: str) -> list[tuple[str, int, str | None]]:
    return [(it.code.value, it.line, it.fix_hint) for it in lint(text)]


@pytest.mark.parametrize("line", SECOND_ROUNDS)
def test_heading_begins_a_round_if_experts_speak(line):
    text = f"{PANEL}{FIRST}{line}\n\n{SAID}"
    label = SECOND_ROUNDS[line]
    assert rounds(text) == [(1, "X", ("Muffin",)), (2, label, ("Scone",))]
    assert [(it.round, it.agent) for it in parse(text).markers] == [(2, None), (2, "Scone")]
    at = (PANEL + FIRST).count("\n") + 1
    assert ("round-form", at, f"## Round 2: {label}") in found(text)
    assert rounds(fix(text)) == rounds(text)
    assert f"\n## Round 2: {label}\n" in fix(text)
    assert parse(render(parse(text))) == parse(text)


@pytest.mark.parametrize("line", [it for it in SECOND_ROUNDS if "\n" not in it])
def test_heading_about_a_round_is_a_section(line):
    text = f"{PANEL}{FIRST}{line}\n\nWords.\n\n## Round 3: Y\n\n### Scone 🧁\n\nb\n"
    assert [it[0] for it in rounds(text)] == [1, 3]
    assert {it[0] for it in found(text)} <= {"section-form"}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("## Rounds 1 and 2", None),
        ("## Round 1-2: X", None),
        ("## Lessons from Round 1", None),
        ("## Final Positions", "## Round 2: Final Positions"),
        ("## Perspectives (Round 1)", "## Round 1: Perspectives"),
    ],
)
def test_turns_under_another_heading_are_reported(line, hint):
    text = f"{PANEL}{FIRST}{line}\n\n{SAID}"
    at = (PANEL + FIRST).count("\n") + 1
    assert found(text) == [("round-unclear", at, hint)]
    assert fix(text) == text


def test_reused_round_number_is_reported():
    text = f"{PANEL}{FIRST}## Round 1 Summary\n\n### Scone 🧁\n\nb\n"
    assert rounds(text) == [(1, "X", ("Muffin",)), (1, "Summary", ("Scone",))]
    assert [it[0] for it in found(text)] == ["round-form", "round-duplicate"]


@pytest.mark.parametrize(
    "line", ["**Round 2: Y**", "**Round 2 (Review)**", "> ## Round 2: Y", "<h2>Round 2: Y</h2>"]
)
def test_turns_under_a_line_like_a_round_are_reported(line):
    text = f"{PANEL}{FIRST}{line}\n\n{SAID}"
    at = (PANEL + FIRST).count("\n") + 1
    label = "Review" if "Review" in line else "Y"
    assert found(text) == [("round-unclear", at, f"## Round 2: {label}")]
    assert found(f"{text}\n## Round 2: Z\n\n### Muffin 🧁\n\nb\n") == []
    assert found(text.replace("Round 2", "Round 4")) == []


@pytest.mark.parametrize("head", [PANEL, "# T\n\n"])
@pytest.mark.parametrize("rest", ["", FIRST])
@pytest.mark.parametrize(
    "line", ["## Round 0 (Review)", "## Opening Perspectives (Round 0)", "### Round 0 Synthesis"]
)
def test_the_first_round_may_have_any_label(head, rest, line):
    text = f"{head}{line}\n\n### Scone 🧁\n\n[TENSION T01: x]\n\n{rest}"
    assert [it[0] for it in rounds(text)] == ([0, 1] if rest else [0])
    assert [it.round for it in parse(text).markers] == [0]
    assert parse(render(parse(text))) == parse(text)


def test_summary_before_the_panel_is_no_round():
    text = f"# T\n\n## Round 1 Summary\n\n### Muffin\n\na\n\n{PANEL[5:]}{FIRST}"
    assert rounds(text) == [(1, "X", ("Muffin",))]
    assert [it[0] for it in found(text)] == ["round-unclear"]


@pytest.mark.parametrize("heading", ["### Round 1 so far", "### Round 0 again", "### Round 3 plan"])
def test_a_subheading_about_a_round_stays_in_the_turn(heading):
    text = f"{PANEL}{FIRST}{heading}\n\nb\n\n### Scone 🧁\n\nc\n\n## Round 3: Y\n\n### Scone 🧁\n\nd\n"
    assert [it[::2] for it in rounds(text)] == [(1, ("Muffin", "Scone")), (3, ("Scone",))]
    assert found(text) == []


def test_the_judge_discusses_experts_under_a_mention():
    text = (
        f"{PANEL}{FIRST}## 💙 Judge: Round 1 Assessment\n\n### Round 2 Directive\n\nb\n\n### Scone 🧁\n\nc\n"
    )
    assert rounds(text) == [(1, "X", ("Muffin",))]


def test_quoted_experts_make_a_round_of_a_new_number():
    said = "{}\n\nLead.\n\n- **Scone**: [TENSION T01: y] b\n\n**Muffin**: c\n"
    text = f"{PANEL}## Round 1: X\n\n**Muffin**: a\n\n" + said
    assert rounds(text.format("## Round 2 (Review)"))[1:] == [(2, "Review", ("Scone", "Muffin"))]
    assert [it.round for it in parse(text.format("## Round 2 (Review)")).markers] == [2]
    assert rounds(fix(text.format("## Round 2 (Review)")))[1:] == [(2, "Review", ("Scone", "Muffin"))]
    assert len(rounds(text.format("## Round 1 (Review)"))) == 1


def test_quoted_experts_may_make_the_first_round():
    said = "{}\n\n**Muffin**: a\n\n**Scone**: b\n\n"
    text = PANEL + said.format("## Round 1 (Review)") + said.format("## Round 2 (Convergence)")
    both = ("Muffin", "Scone")
    assert rounds(text) == rounds(fix(text)) == [(1, "Review", both), (2, "Convergence", both)]
    assert parse(render(parse(text))) == parse(text)
    # A panel that follows, and a section that would be a turn, say that it is none.
    assert rounds("# T\n\n" + said.format("## Round 1 (Review)") + PANEL[5:]) == []
    assert rounds(text + "## Muffin 🧁\n\nc\n") == []


@pytest.mark.parametrize("label", ["Agenda", "Summary", "Votes"])
def test_experts_in_a_report_do_not_speak(label):
    text = f"{PANEL}{FIRST}## Round 2 {label}\n\n- **Muffin**: write\n- **Scone**: test\n"
    assert [it[0] for it in rounds(text)] == [1]


@pytest.mark.parametrize("heading", ["## Scone — Round 2", "### Scone 🧁 (Round 2)"])
def test_a_turn_that_names_a_later_round_is_reported(heading):
    text = f"{PANEL}{FIRST}{heading}\n\nb\n"
    at = (PANEL + FIRST).count("\n") + 1
    assert ("round-unclear", at, "## Round 2") in found(text)
    assert "round-unclear" not in [it[0] for it in found(text.replace("Round 2", "Round 1"))]


def test_a_bold_line_may_have_any_label():
    text = (
        "# T\n\n**Round 1 (Review)**\n\n### Muffin 🧁\n\na\n\n**Round 2 — Synthesis**\n\n### Muffin 🧁\n\nb\n"
    )
    assert rounds(text) == [(1, "Review", ("Muffin",)), (2, "Synthesis", ("Muffin",))]
    assert rounds(fix(text)) == rounds(text)


def test_scan_reports_the_same_rounds():
    text = f"{PANEL}{FIRST}## Round 2 (Convergence)\n\n{SAID}\n## Round 3 Summary\n\nWords.\n"
    numbers = [line.round for line in scan(text) if line.raw.startswith(("##", "["))]
    assert numbers == [None, 1, 1, 2, 2, 2, 2, None]


def test_a_heading_in_prose_stays_prose():
    said = (Turn("Muffin", blocks=(Prose("### Round 2 (Review)\n\nb"),)), Turn("Scone", blocks=(Prose("c"),)))
    document = AlignmentDialogue("T", parts=(Round(1, turns=said),))
    assert parse(render(document)) == document
