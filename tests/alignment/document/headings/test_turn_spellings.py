"""Spellings of turns that are further from the canonical one: other words beside the name, and no heading at all."""

from __future__ import annotations

import pytest

from symposia.alignment.document import AlignmentDialogue, Prose, Round, Turn, fix, lint, parse, render

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
### Muffin Round 1
### Muffin R1
### Muffin Response
### Muffin says
### Muffin Opening Statement
### Muffin to Scone
### Muffin Systems Architect
### Muffin 🧁 Systems Architect
### 🧁 Muffin Systems Architect
### Muffin / Systems Architect
### Muffin—Architect
### Muffin · Architect
##### Muffin
###### Muffin 🧁
### Muffin (🧁)
### 🧁 Muffin
### Muffin 🧁:
### 1. Muffin
### **Muffin** 🧁
### [Muffin](#m)
### 🧁 [Muffin](#m)
### <a name="m"></a>Muffin 🧁
### Muffin 🧁 {#m}
### Muffin <!-- x -->
### `Muffin`
### @Muffin
### Agent: Muffin
### From Muffin
### Response from Muffin
### Turn 1: Muffin
### Expert #2 — Muffin
### Round 1: Muffin
### Round 1 — Muffin 🧁
- **Muffin**: x
1. **Muffin** — x
**Muffin** — x
**Muffin 🧁:** x
**Muffin** (architect): x
***Muffin***: x
__Muffin__: x
**Muffin**
**🧁 Muffin**
> **Muffin:**
> **Muffin:** x
🧁 **Muffin**: x
🧁 Muffin: x
Muffin: x""",
        "Ada Lovelace": "### Ada 🦊\n### ADA LOVELACE\n### Ada Lovelace 🦊\n### Dr. Ada Lovelace\n### Prof. Dr. Ada Lovelace 🦊"
        "\n### Dr Ada 🦊\n**Dr. Ada Lovelace**: x",
        "Zoë O'Neil": "### Zoë O’Neil\n### Zoë O'Neil 👩🏽‍💻\n**Zoë O’Neil**: x",
        "李明": "### 李明 🐼\n### 李明\n李明：x",
    }.items()
}


@pytest.mark.parametrize(("line", "name"), [(line, name) for name, lines in TURNS.items() for line in lines])
def test_a_turn_is_read_in_this_spelling(line, name):
    text = f"{PANEL}{line}\n\nWords.\n\n[TENSION T01: x]\n"
    document = parse(text)
    assert [it.agents for it in document.rounds] == [(name,)]
    assert [(it.agent, it.round) for it in document.markers] == [(name, 1)]
    assert parse(render(document)) == document


@pytest.mark.parametrize(
    "line",
    [
        "### On Muffin's point",
        "### Muffins are good",
        "### Muffin & Scone",
        "### Ada",
        "**Key insight**: Muffin is right",
        "**Note**",
        "| Muffin | x |",
        "Scone and Muffin: both agree",
        "- Muffin: in a list without stars",
        "**Muffin** is right: x",
    ],
)
def test_other_heading_begins_no_turn(line):
    document = parse(f"{PANEL}{line}\n\nWords.\n")
    assert [it.agents for it in document.rounds] == [()]
    assert parse(render(document)) == document


def test_name_line_begins_a_turn_if_no_heading_does():
    found = parse(f"{PANEL}**Scone**: before\n\n### Muffin 🧁\n\n**Ada Lovelace**: quoted\n")
    assert [it.agents for it in found.rounds] == [("Muffin",)]


@pytest.mark.parametrize(
    "heading", ["### Dr. Ada Lovelace", "### Ada Lovelace", "### Ada 🦊", "### Professor Ada Lovelace"]
)
def test_title_of_an_expert_may_be_omitted(heading):
    text = PANEL.replace("🦊 Ada Lovelace", "🦊 Dr. Ada Lovelace") + f"{heading}\n\nWords.\n"
    assert [it.agents for it in parse(text).rounds] == [("Dr. Ada Lovelace",)]
    assert parse(render(parse(text))) == parse(text)


def test_ambiguous_name_without_a_title_is_no_expert():
    panel = "# T\n\n**Participants**: Dr. Smith 🧁, Mr. Smith 🧁, Dr. 🧁\n\n## Round 1: X\n\n"
    text = panel + "### Smith\n\na\n\n### Mr. Smith\n\nb\n\n### dr. smith\n\nc\n"
    assert [it.agents for it in parse(text).rounds] == [("Mr. Smith", "Dr. Smith")]


def test_participants_may_be_joined_with_words():
    text = "# T\n\n**Participants**: Muffin 🧁, Scone 🧁 and Ada\n\n## Round 1: X\n\n### Ada\n\nx\n"
    assert [it.agents for it in parse(text).rounds] == [("Ada",)]
    assert "agent-unknown" not in {it.code for it in lint(text)}


def test_missing_turn_heading_is_reported_with_a_fix():
    text = f"{PANEL}**Muffin** (UX): one [TENSION T01: x]\n\n- **Scone**: two\n"
    at = PANEL.count("\n") + 1
    told = [(it.line, it.fix_hint) for it in lint(text) if it.code == "agent-form"]
    assert told == [(at, "### Muffin 🧁 — (UX)\n\none [TENSION T01: x]"), (at + 2, "### Scone 🧁\n\ntwo")]
    assert parse(fix(text)) == parse(text)
    assert "agent-form" not in {it.code for it in lint(fix(text))}


@pytest.mark.parametrize(
    "said",
    [
        "### Muffin Response",
        "Muffin\n---",
        "### From Muffin",
        "\\Muffin\n\\---",
        "### Bob 🦊",
        "### Bob 🦊\n### From Muffin",
    ],
)
def test_unknown_names_make_no_headings(said):
    turns = (Turn("Muffin", blocks=(Prose(said),)),)
    document = AlignmentDialogue("T", parts=(Round(0, turns=turns),))
    assert parse(render(document)) == document


def test_known_speaker_is_read_in_other_spellings():
    text = "# T\n\n## Round 0\n\n### Muffin 🧁\n\nx\n\n## Round 1\n\n### Muffin Response\n\ny\n"
    assert [it.agents for it in parse(text).rounds] == [("Muffin",), ("Muffin",)]
