"""A heading that mentions a round's number begins that round if experts speak under it; otherwise lint reports it."""

from __future__ import annotations

import pytest

from symposia.alignment.document import fix, lint, parse, render, scan

PANEL = "# T\n\n## Expert Panel\n\n| Agent | Role |\n|---|---|\n| 🧁 Muffin | A |\n| 🧁 Scone | B |\n\n"
FIRST = "## Round 1: X\n\n### Muffin 🧁\n\na\n\n"
SAID = "Words.\n\n[TENSION T02: y]\n\n### Scone 🧁\n\n[TENSION T01: x]\n"
AT = (PANEL + FIRST).count("\n") + 1

SECOND_ROUNDS = {
    "## Round 2 (Convergence)": "Convergence",
    "## Round 2 — Review": "Review",
    "## Round 2 Results & Scores": "Results & Scores",
    "## Round 2 — Judge Assessment": "Judge Assessment",
    "## Round 2 was short": "was short",
    "## Round II (Verdict)": "Verdict",
    "## **Round 2** (Outcome)": "Outcome",
    "## Second Round (Synthesis)": "Synthesis",
    "## 2nd Round Review": "Review",
    "## Convergence (Round 2)": "Convergence",
    "## Review: Round 2": "Review",
    "## Synthesis — Round 2: Vote": "Synthesis: Vote",
    "## Tensions (Round 2)": "Tensions",
    "# Round 2 (Convergence)": "Convergence",
    "## 🔄 Round 2 — Review": "Review",
    "## Final Round (Synthesis)": "Final Round: Synthesis",
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
    assert ("round-form", AT, f"## Round 2: {label}") in found(text)
    assert rounds(fix(text)) == rounds(text)
    assert f"\n## Round 2: {label}\n" in fix(text)
    assert parse(render(parse(text))) == parse(text)


@pytest.mark.parametrize("line", [it for it in SECOND_ROUNDS if "\n" not in it])
def test_heading_about_a_round_is_a_section(line):
    text = f"{PANEL}{FIRST}{line}\n\nWords.\n\n## Round 3: Y\n\n### Scone 🧁\n\nb\n"
    assert [it[0] for it in rounds(text)] == [1, 3]
    assert {it[0] for it in found(text)} <= {"round-unread" if line.startswith("###") else "section-form"}


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
    assert found(text) == [("round-unclear", AT, hint)]
    assert fix(text) == text


@pytest.mark.parametrize(
    "line", ["**Round 2: Y**", "**Round 2 (Review)**", "> ## Round 2: Y", "<h2>Round 2: Y</h2>"]
)
def test_turns_under_a_line_like_a_round_are_reported(line):
    text = f"{PANEL}{FIRST}{line}\n\n{SAID}"
    label = "Review" if "Review" in line else "Y"
    assert found(text) == [("round-unclear", AT, f"## Round 2: {label}")]
    assert found(f"{text}\n## Round 2: Z\n\n### Muffin 🧁\n\nb\n") == []
    assert found(text.replace("Round 2", "Round 4")) == []


@pytest.mark.parametrize("heading", ["## Scone — Round 2", "### Scone 🧁 (Round 2)"])
def test_turn_that_names_a_later_round_is_reported(heading):
    text = f"{PANEL}{FIRST}{heading}\n\nb\n"
    assert ("round-unclear", AT, "## Round 2") in found(text)
    assert "round-unclear" not in [it[0] for it in found(text.replace("Round 2", "Round 1"))]


def test_reused_round_number_is_reported():
    text = f"{PANEL}{FIRST}## Round 1 Summary\n\n### Scone 🧁\n\nb\n"
    assert rounds(text) == [(1, "X", ("Muffin",)), (1, "Summary", ("Scone",))]
    assert [it[0] for it in found(text)] == ["round-form", "round-duplicate"]


@pytest.mark.parametrize("head", [PANEL, "# T\n\n"])
@pytest.mark.parametrize("rest", ["", FIRST])
@pytest.mark.parametrize(
    "line", ["## Round 0 (Review)", "## Opening Perspectives (Round 0)", "### Round 0 Synthesis"]
)
def test_first_round_may_have_any_label(head, rest, line):
    text = f"{head}{line}\n\n### Scone 🧁\n\n[TENSION T01: x]\n\n{rest}"
    assert [it[0] for it in rounds(text)] == ([0, 1] if rest else [0])
    assert [it.round for it in parse(text).markers] == [0]
    assert parse(render(parse(text))) == parse(text)


def test_summary_before_the_panel_is_no_round():
    text = f"# T\n\n## Round 1 Summary\n\n### Muffin\n\na\n\n{PANEL[5:]}{FIRST}"
    assert rounds(text) == [(1, "X", ("Muffin",))]
    assert [it[0] for it in found(text)] == ["round-unclear"]


@pytest.mark.parametrize("heading", ["### Round 1 so far", "### Round 0 again", "### Round 3 plan"])
def test_subheading_about_a_round_stays_in_the_turn(heading):
    text = f"{PANEL}{FIRST}{heading}\n\nb\n\n### Scone 🧁\n\nc\n\n## Round 3: Y\n\n### Scone 🧁\n\nd\n"
    assert [it[::2] for it in rounds(text)] == [(1, ("Muffin", "Scone")), (3, ("Scone",))]
    assert found(text) == []


def test_judge_discusses_experts_under_a_mention():
    text = (
        f"{PANEL}{FIRST}## 💙 Judge: Round 1 Assessment\n\n### Round 2 Directive\n\nb\n\n### Scone 🧁\n\nc\n"
    )
    assert rounds(text) == [(1, "X", ("Muffin",))]


QUOTES = "{}\n\nLead.\n\n- **Scone**: [TENSION T01: y] b\n\n**Muffin**: c\n\n"


@pytest.mark.parametrize(
    "first", ["## Round 1: X\n\n**Muffin**: a\n\n", "", QUOTES.format("## Round 1 (Vote)")]
)
def test_quoted_experts_make_a_round_of_a_new_number(first):
    text = PANEL + first + QUOTES.format("## Round 2 (Review)")
    assert rounds(text)[-1] == rounds(fix(text))[-1] == (2, "Review", ("Scone", "Muffin"))
    assert [it.round for it in parse(text).markers][-1] == 2
    assert len(rounds(text)) == (2 if first else 1)
    assert len(rounds(text.replace("Round 2", "Round 1"))) == 1
    assert parse(render(parse(text))) == parse(text)


@pytest.mark.parametrize("label", ["Agenda", "Summary", "Votes"])
def test_experts_in_a_report_do_not_speak(label):
    text = f"{PANEL}{FIRST}## Round 2 {label}\n\n- **Muffin**: write\n- **Scone**: test\n"
    assert [it[0] for it in rounds(text)] == [1]


def test_bold_line_may_have_any_label():
    text = "# T\n\n**Round 1 (Review)**\n\n### Muffin 🧁\n\na\n\n**Round 2 — Vote**\n\n### Muffin 🧁\n\nb\n"
    assert rounds(text) == rounds(fix(text)) == [(1, "Review", ("Muffin",)), (2, "Vote", ("Muffin",))]


def test_scan_reports_the_same_rounds():
    text = f"{PANEL}{FIRST}## Round 2 (Convergence)\n\n{SAID}\n## Round 3 Summary\n\nWords.\n"
    numbers = [line.round for line in scan(text) if line.raw.startswith(("##", "["))]
    assert numbers == [None, 1, 1, 2, 2, 2, 2, None]
