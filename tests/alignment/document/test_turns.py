"""Spellings of turns: headings with other words beside the name, and lines that begin with the speaker."""

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
    summary,
)

PANEL = """\
# A title

## Expert Panel

| # | Agent | Role |
|---|---|---|
| 1 | 💙 Judge | Orchestrator |
| 2 | 🧁 **Muffin** | Systems Architect |
| 3 | 🧁 Scone | Risk |
| 4 | 🦊 Ada Lovelace | Analyst |
| 5 | 👩🏽‍💻 Zoë O'Neil | Developer |
| 6 | 🐼 李明 | Analyst |

## Round 1: X

"""
TURNS = {
    name: lines.strip().split("\n")
    for name, lines in {
        "Muffin": """
### Muffin 🧁
### Muffin
### muffin
### 🧁Muffin
### **🧁 Muffin**
### Muffin 🧁 (Systems Architect)
### Muffin (Systems Architect) 🧁
### 🧁 Muffin — Systems Architect
### 🧁 Muffin → HHMMZ (switched)
### Muffin's Response
### Muffin Response
### Muffin Round 1
### Muffin 🧁 responds to Ada
### Muffin / Systems Architect
### Muffin—Architect
### 1. Muffin 🧁
### Expert 2: 🧁 Muffin
### Agent: Muffin
### Turn 1: Muffin
### Expert #2 — Muffin
### Round 1: Muffin
#### Muffin 🧁
## Muffin 🧁
### [Muffin](#m)
### <a name="m"></a>Muffin 🧁
### `Muffin`
### @Muffin
- **Muffin**: x
1. **Muffin** — x
**Muffin 🧁:** x
**Muffin** (architect): x
__Muffin__: x
**Muffin**
> **Muffin:** x
> 🧁 Muffin: x
🧁 **Muffin**: x
Muffin: x""",
        "Ada Lovelace": "### ADA LOVELACE\n### Ada Lovelace 🦊: On engines\n### Prof. Dr. Ada Lovelace 🦊\n**Dr. Ada Lovelace**: x",
        "Zoë O'Neil": "### Zoë O’Neil\n### Zoë O'Neil 👩🏽‍💻\n**Zoë O’Neil**: x",
        "李明": "### 李明 🐼\n### 李明\n李明：x",
        "Stranger": "### Stranger 🧁\n### Stranger 🐙",
        "Expert": "### Expert 🧁",
    }.items()
}


@pytest.mark.parametrize(("line", "name"), [(line, name) for name, lines in TURNS.items() for line in lines])
def test_turn_is_read_in_this_spelling(line, name):
    document = parse(f"{PANEL}{line}\n\nWords.\n\n[TENSION T01: x]\n")
    assert [it.agents for it in document.rounds] == [(name,)]
    assert [(it.agent, it.round) for it in document.markers] == [(name, 1)]
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    "line",
    [
        "### On Muffin's point",
        "### Muffins are good",
        "### Muffin & Scone",
        "### Stranger",
        "### Strange things 🐙",
        "### Key Points 🎯",
        "### Storage 💾",
        "### 💙 Judge Synthesis",
        "**Key insight**: Muffin is right",
        "**Note**",
        "| Muffin | x |",
        "Scone and Muffin: both agree",
        "- Muffin: in a list without stars",
        "- 🧁 Muffin: in a list",
        "> Muffin: quoted",
        "**Muffin** is right: x",
        "```\n**Muffin**: x\n```",
    ],
)
def test_other_line_begins_no_turn(line):
    document = parse(f"{PANEL}{line}\n\nWords.\n")
    assert [it.agents for it in document.rounds] == [()]
    assert parse(render(document)) == document


def test_name_line_begins_a_turn_if_no_heading_does():
    found = parse(f"{PANEL}**Scone**: before\n\n### Muffin 🧁\n\n**Ada Lovelace**: quoted\n")
    assert [it.agents for it in found.rounds] == [("Muffin",)]


@pytest.mark.parametrize(
    "said", ["**Muffin**: hi", "Muffin: hi", "- **Scone**: hi", "> 🧁 Muffin: hi\n\n\\Muffin: x"]
)
def test_prose_that_begins_with_a_name_stays_prose(said):
    panel = parse(PANEL).parts[0]
    document = AlignmentDialogue("T", parts=(panel, Round(1, blocks=(Prose(said),))))
    assert parse(render(document)) == document
    assert document.rounds[0].turns == ()


def test_title_of_an_expert_may_be_omitted():
    text = PANEL.replace("🦊 Ada Lovelace", "🦊 Dr. Ada Lovelace") + "### {}\n\nWords.\n"
    for heading in ("Dr. Ada Lovelace", "Ada Lovelace", "Professor Ada Lovelace"):
        assert [it.agents for it in parse(text.format(heading)).rounds] == [("Dr. Ada Lovelace",)]


def test_ambiguous_name_without_a_title_is_no_expert():
    panel = "# T\n\n**Participants**: Dr. Smith 🧁, Mr. Smith 🧁, Dr. 🧁\n\n## Round 1: X\n\n"
    text = panel + "### Smith\n\na\n\n### Mr. Smith\n\nb\n\n### dr. smith\n\nc\n"
    assert [it.agents for it in parse(text).rounds] == [("Mr. Smith", "Dr. Smith")]


@pytest.mark.parametrize(
    "panel",
    [
        "**Participants**: Muffin 🧁, Scone 🧁 and Ada",
        "**Participants**: 💙 Judge | 🧁 Muffin, Ada",
    ],
)
def test_experts_may_be_introduced_without_a_table(panel):
    document = parse(f"# T\n\n{panel}\n\n## Round 1: X\n\n### Ada\n\nA.\n")
    assert [it.agents for it in document.rounds] == [("Ada",)]
    assert "agent-unknown" not in {it.code for it in lint(render(document))}


def test_missing_turn_heading_is_reported_with_a_fix():
    text = f"{PANEL}**Muffin** (UX): one [TENSION T01: x]\n\n- **Scone**: two\n"
    at = PANEL.count("\n") + 1
    told = [(it.line, it.fix_hint) for it in lint(text) if it.code == "agent-form"]
    assert told == [(at, "### Muffin 🧁 — (UX)\n\none [TENSION T01: x]"), (at + 2, "### Scone 🧁\n\ntwo")]
    assert parse(fix(text)) == parse(text)
    assert "agent-form" not in {it.code for it in lint(fix(text))}


@pytest.mark.parametrize(
    "said", ["### Muffin Response", "Muffin\n---", "\\Muffin\n\\---", "### Bob 🦊\n### Agent: Muffin"]
)
def test_unknown_names_make_no_headings(said):
    turns = (Turn("Muffin", blocks=(Prose(said),)),)
    document = AlignmentDialogue("T", parts=(Round(0, turns=turns),))
    assert parse(render(document)) == document


@pytest.mark.parametrize("later", ["### Muffin Response", "### Muffin"])
def test_known_speaker_is_read_in_other_spellings(later):
    text = f"# T\n\n## Round 0\n\n### Muffin 🦊\n\nx\n\n## Round 1\n\n{later}\n\ny\n\n### Analysis\n"
    assert [it.agents for it in parse(text).rounds] == [("Muffin",), ("Muffin",)]
    assert parse(render(parse(text))) == parse(text)


def test_experts_that_the_judge_discusses_take_no_turn():
    found = parse(f"{PANEL}### Muffin 🧁\n\nA.\n\n## 💙 Judge: Y\n\n### Ada Lovelace 🦊\n\nDid well.")
    assert found.rounds[0].agents == ("Muffin",)


def test_nested_bare_name_is_a_reply():
    text = f"{PANEL}## Muffin 🧁\n\nA.\n\n### Ada Lovelace 🦊\n\nB.\n\n#### Muffin\n\nTo you.\n\n## Muffin — Round 1\n"
    assert [it["agents"] for it in summary(parse(text))["rounds"]] == [["Muffin", "Ada Lovelace"]]
    assert len(parse(text).rounds[0].turns) == 3
