"""Metadata, tables, lines and what hides all of these are read; each line has one of eight kinds."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from symposia import alignment
from symposia.alignment.document import Content, classify, parse, render, scan, summary, tensions
from symposia.alignment.document.headings import AgentHeading, RoundHeading
from symposia.alignment.document.lines import (
    Heading1,
    MarkerLine,
    MetadataLine,
    SectionHeading,
    TableRow,
)
from symposia.models import alignment as values


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
    quoted = hidden.replace("\n", "\n> ")
    body = f"```\n{hidden}\n```\n\n~~~~ md\n{hidden}\n~~~\n~~~~\n\n<!--\n{hidden}\n-->\n\n> ```\n> {quoted}\n"
    document = parse(f"# T\n\n## Round 1: X\n\n{body}")
    assert [(it.number, it.turns) for it in document.rounds] == [(1, ())]
    assert document.markers == ()
    assert [it.number for it in parse("## Round 1: X\n```\n## Round 2: Y\n").rounds] == [1]


def test_line_ends_and_byte_order_mark_change_nothing():
    text = "# T\n\n**K**: v\n\n## Experts\n\n| Agent |\n|---|\n| 🦊 Ada |\n\n## Round 1: X\n\n### Ada 🦊\n\n[TENSION T01: x]\n"
    for other in (text.replace("\n", "\r\n"), "\ufeff" + text, text.replace("\n", "  \n")):
        assert parse(other) == parse(text)
        assert "".join(line.raw for line in scan(other)) == other


def test_cells_respect_escaped_pipes():
    (table,) = list(parse("| a\\|b | c |\n|---|---|\n| \\\\ | d |\n").blocks())
    assert (table.header, table.rows) == (("a|b", "c"), (("\\", "d"),))


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


def test_alignment_package_imports_no_pattern_matching():
    folders = [Path(it.__file__).parent for it in (alignment, values)]
    for path in itertools.chain.from_iterable(it.rglob("*.py") for it in folders):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"re", "regex", "fnmatch", "glob", "sre_parse"} & {*names}, path


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
