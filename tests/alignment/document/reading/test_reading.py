"""Documents are read in many spellings: headings, experts, metadata, tables, and what hides all of these."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from symposia import alignment
from symposia.alignment.document import Content, classify, parse, render, scan, summary, tensions
from symposia.alignment.document.headings.headings import AgentHeading, RoundHeading
from symposia.alignment.document.lines import (
    Heading1,
    MarkerLine,
    MetadataLine,
    SectionHeading,
    TableRow,
)
from symposia.models import alignment as values

PANEL = """\
## Expert Panel

| Agent | Role |
|:------|-----:|
| 💙 Judge | Orchestrator |
| 🧁 **Muffin** | Systems Architect |
| 🦊 Ada Lovelace | Analyst |
"""


def read(body: str) -> dict:
    return summary(parse(f"# A title\n\n{PANEL}\n{body}"))


@pytest.mark.parametrize(
    ("heading", "number", "label"),
    [
        ("## Round 1: Opening", 1, "Opening"),
        ("## Round 0", 0, ""),
        ("##   Round   2 :  Spaced   out  ##", 2, "Spaced out"),
        ("## Round 2 (Deep dive)", 2, "Deep dive"),
        ("## Round 2 — Deep dive", 2, "Deep dive"),
        ("## Round 2 - Deep dive", 2, "Deep dive"),
        ("## Round 2 Deep dive", 2, "Deep dive"),
        ("## ROUND 3: X", 3, "X"),
        ("## round three: X", 3, "X"),
        ("## **Round 3**: X", 3, "X"),
        ("## 🔄 Round 3: X", 3, "X"),
        ("## Round 1/3: X", 1, "X"),
        ("## Round 2 of 3: X", 2, "X"),
        ("## R1: X", 1, "X"),
        ("##Round 4: X", 4, "X"),
        ("# Round 4: X", 4, "X"),
        ("### Round 4: X", 4, "X"),
        ("## Round 4: X\n\n### Round 5: Y", 4, "X"),
        ("## Opening Arguments (Round 0)", 0, "Opening Arguments"),
        ("## Round 1 Summary", None, None),
        ("## Rounds", None, None),
        ("## Round 1.5", None, None),
        ("## Scoreboard (Round 2)", None, None),
        ("## Final Round Results", None, None),
    ],
)
def test_a_round_is_read_from_this_heading(heading, number, label):
    rounds = [(it["number"], it["label"]) for it in read(heading)["rounds"]]
    assert rounds == ([] if number is None else [(number, label)])


@pytest.mark.parametrize(
    ("heading", "agents"),
    [
        ("### Muffin 🧁", ["Muffin"]),
        ("### 🧁 Muffin", ["Muffin"]),
        ("### Muffin", ["Muffin"]),
        ("### muffin", ["Muffin"]),
        ("### 🧁Muffin", ["Muffin"]),
        ("### 🧁 **Muffin**", ["Muffin"]),
        ("### **🧁 Muffin**", ["Muffin"]),
        ("### Muffin 🧁 (Systems Architect)", ["Muffin"]),
        ("### Muffin (Systems Architect) 🧁", ["Muffin"]),
        ("### 🧁 Muffin — Systems Architect", ["Muffin"]),
        ("### 🧁 Muffin → HHMMZ (switched)", ["Muffin"]),
        ("### Muffin's Response", ["Muffin"]),
        ("### 1. Muffin 🧁", ["Muffin"]),
        ("### Expert: Muffin 🧁", ["Muffin"]),
        ("### Expert 2: 🧁 Muffin", ["Muffin"]),
        ("### Agent: Muffin", ["Muffin"]),
        ("### Expert 🧁", ["Expert"]),
        ("### Muffin 🧁 Round 1", ["Muffin"]),
        ("### 🧁 Muffin — Response", ["Muffin"]),
        ("### Muffin 🧁 responds to Ada", ["Muffin"]),
        ("#### Muffin 🧁", ["Muffin"]),
        ("## Muffin 🧁", ["Muffin"]),
        ("### Ada Lovelace", ["Ada Lovelace"]),
        ("### Ada Lovelace 🦊: On engines", ["Ada Lovelace"]),
        ("### Stranger 🧁", ["Stranger"]),
        ("### Stranger 🐙", ["Stranger"]),
        ("### Strange things 🐙", []),
        ("### Stranger", []),
        ("### Key Points 🎯", []),
        ("### Analysis", []),
        ("### 💙 Judge Synthesis", []),
        ("### Judge", []),
        ("**Muffin**: quoted by name", ["Muffin"]),
        ("**🧁 Muffin (UX):** quoted by name", ["Muffin"]),
    ],
)
def test_an_expert_is_read_from_this_line(heading, agents):
    assert read(f"## Round 1: X\n\n{heading}\n\nSomething.")["rounds"][0]["agents"] == agents


@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("## 💙 Judge: Round 0 Assessment", "Round 0 Assessment"),
        ("## 💙 Judge — Round 1 Summary", "Round 1 Summary"),
        ("## 💙 Judge: What now (Round 3)", "What now (Round 3)"),
        ("## 💙 Judge Round 0 Summary", "Round 0 Summary"),
        ("### 💙 Judge Synthesis — Round 1", "Synthesis — Round 1"),
        ("### Judge Synthesis", "Synthesis"),
        ("## Judge: Ruling", "Ruling"),
        ("## Judge", ""),
        ("## ⚖️ Judge: Ruling", "Ruling"),
    ],
)
def test_the_judge_is_read_from_this_heading(heading, label):
    assert [it["label"] for it in read(f"## Round 1: X\n\n{heading}\n\nWell.")["judge"]] == [label]


def test_experts_that_the_judge_discusses_take_no_turn():
    found = read("## Round 1: X\n\n### Muffin 🧁\n\nA.\n\n## 💙 Judge: Y\n\n### Ada Lovelace 🦊\n\nDid well.")
    assert found["rounds"][0]["agents"] == ["Muffin"]


def test_participants_are_the_experts_without_a_panel():
    found = summary(
        parse("# T\n\n**Participants**: 💙 Judge | 🧁 Muffin, Ada\n\n## Round 1: X\n\n### Ada\n\nA.")
    )
    assert found["rounds"][0]["agents"] == ["Ada"]


def test_a_panel_may_be_a_list():
    text = (
        "# T\n\n## Experts\n\n- **Ada** — Analyst\n- 🧁 Muffin: Architect\n\n## Round 1: X\n\n### Ada\n\nA."
    )
    assert summary(parse(text))["rounds"][0]["agents"] == ["Ada"]


@pytest.mark.parametrize(
    "lines",
    ["**Status**: Open", "**Status:** Open", "- **Status**: Open", "| | |\n|---|---|\n| **Status** | Open |",
     "| Field | Value |\n|-------|-------|\n| Status | Open |"],
)  # fmt: skip
def test_metadata_is_read_in_this_spelling(lines):
    (entry,) = summary(parse(f"# T\n\n{lines}\n\n---\n\n**Not**: metadata\n\n## S\n\n**Nor**: this"))[
        "metadata"
    ]
    assert (entry["key"], entry["value"]) == ("Status", "Open")


def test_nothing_in_a_fence_or_a_comment_is_structure():
    hidden = "## Round 7: X\n### Muffin 🧁\n[TENSION T01: x]\n| a | b |\n# Title"
    body = f"## Round 1: X\n\n```\n{hidden}\n```\n\n~~~~ md\n{hidden}\n~~~\n~~~~\n\n<!--\n{hidden}\n-->\n\n> ```\n> {hidden}\n"
    found = read(body.replace("\n### Muffin 🧁\n[TENSION T01: x]\n| a | b |\n# Title\n", "\n", 0))
    assert [it["number"] for it in found["rounds"]] == [1]


def test_an_unclosed_fence_hides_the_rest():
    assert [it["number"] for it in read("## Round 1: X\n```\n## Round 2: Y\n")["rounds"]] == [1]


def test_line_ends_and_byte_order_mark_change_nothing():
    text = f"# A title\n\n**K**: v\n\n{PANEL}\n## Round 1: X\n\n### Muffin 🧁\n\n[TENSION T01: x]\n"
    for other in (text.replace("\n", "\r\n"), "\ufeff" + text, text.replace("\n", "  \n")):
        assert parse(other) == parse(text)
        assert "".join(line.raw for line in scan(other)) == other


def test_cells_respect_escaped_pipes():
    (board,) = read("## Board\n\n| a\\|b | c |\n|---|---|\n| \\\\ | d |\n")["sections"][-1:]
    (table,) = list(parse("| a\\|b | c |\n|---|---|\n| \\\\ | d |\n").blocks())
    assert (table.header, table.rows) == (("a|b", "c"), (("\\", "d"),))
    assert board["title"] == "Board"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("# Title", Heading1("Title")),
        ("  ## Expert   Panel", SectionHeading("Expert Panel")),
        ("## Round 2: Label", RoundHeading(2, "Label")),
        ("### Muffin 🧁", AgentHeading("Muffin", "🧁")),
        ("| a | b |", TableRow(("a", "b"))),
        ("**Key**:\tvalue ", MetadataLine("Key", "value")),
        ("  plain words ", Content("plain words")),
        ("", Content("")),
    ],
)
def test_a_line_is_classified(line, kind):
    assert classify(line) == kind


def test_a_marker_line_is_classified():
    kind = classify("[TENSION T1: x]")
    assert isinstance(kind, MarkerLine)
    assert kind.markers[0].ids == ("T01",)


def test_text_that_looks_like_structure_stays_text():
    from symposia.alignment.document import AlignmentDialogue, Prose, Round, Turn

    said = "## Round 9: no\n[TENSION T01: no]\n| no | no |\n```\n\\## no"
    document = AlignmentDialogue("T", parts=(Round(1, "X", turns=(Turn("Ada", blocks=(Prose(said),)),)),))
    assert parse(render(document)) == document


def test_alignment_package_imports_no_pattern_matching():
    folders = [Path(it.__file__).parent for it in (alignment, values)]
    for path in itertools.chain.from_iterable(it.rglob("*.py") for it in folders):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"re", "regex", "fnmatch", "glob", "sre_parse"} & {*names}, path


def test_speaker_is_known_later_without_the_emoji():
    text = "# T\n\n## Round 1: X\n\n### Ada 🦊\n\nA.\n\n## Round 2: Y\n\n### Ada\n\nB.\n\n### Analysis\n"
    assert [it["agents"] for it in summary(parse(text))["rounds"]] == [["Ada"], ["Ada"]]
    assert parse(render(parse(text))) == parse(text)


def test_nested_bare_name_is_a_reply():
    found = read(
        "## Round 1: X\n\n## Muffin 🧁\n\nA.\n\n### Ada Lovelace 🦊\n\nB.\n\n#### Muffin\n\nTo you.\n\n## Muffin — Round 1\n"
    )
    assert [it["agents"] for it in found["rounds"]] == [["Muffin", "Ada Lovelace"]]


def test_metadata_may_follow_front_matter():
    text = "---\nlayout: page\n---\n\n# T\n\n*A sentence.*\n\n**Participants**: 🧁 Ada, 🧁 Ben\n\n> quote\n\n**Not**: metadata\n"
    found = summary(parse(text))
    assert [it["key"] for it in found["metadata"]] == ["Participants"]
    assert [it["name"] for it in found["panel"]] == ["Ada", "Ben"]
    assert parse(render(parse(text))) == parse(text)


def test_tension_raised_again_is_reopened():
    raised, resolved = "[TENSION T01: x]\n", "[RESOLVED T01: y]\n"
    text = f"# T\n\n## Round 0\n\n{raised}{resolved}\n## Round 1\n\n{raised}"
    assert [it.state for it in tensions(parse(text))] == ["reopened"]
    assert [it.state for it in tensions(parse(text + resolved))] == ["resolved"]
