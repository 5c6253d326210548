"""The parser beside today's consumers: what each sees of a line, and where they differ on purpose.

The emulation below follows the line checks that RFC 0028 lists as the state before the contract: the linter's
patterns, and the alignment parser's `line.contains()` with `extract_marker()`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from symposia.alignment.document import parse, parse_markers
from symposia.alignment.document.headings.headings import read_heading, read_judge
from symposia.alignment.document.headings.names import collect_experts, experts_in
from symposia.alignment.document.headings.round_headings import read_round
from symposia.alignment.document.headings.turn_headings import read_agent

WORDS = ("PERSPECTIVE", "TENSION", "REFINEMENT", "CONCESSION", "RESOLVED")
PANEL = collect_experts(experts_in("🧁 Muffin, 🧁 Scone"))


def extract_marker(line: str) -> tuple[str, str] | None:
    """The alignment parser: the first word that a line contains, and what follows up to the next bracket."""
    for word in WORDS:
        if f"[{word}" in line:
            start = line.index(f"[{word}") + len(word) + 1
            end = line.find("]", start)
            return word.lower(), line[start : end if end >= 0 else len(line)].lstrip(" :").strip()
    return None


def linted_heading(line: str) -> str | None:
    """The linter: a round by its number, an agent by name and emoji in either order, any other section."""
    if found := re.match(r"^## Round (\d+)", line):
        return f"round {found[1]}"
    if found := re.match(r"^### (?:(\w+) 🧁|🧁 (\w+))", line):
        return f"agent {found[1] or found[2]}"
    return None


def seen_heading(line: str) -> str | None:
    heading = read_heading(line)
    if heading is None or read_judge(heading):
        return None
    if begun := read_round(heading):
        return f"round {begun.number}"
    agent = read_agent(heading, PANEL)
    return f"agent {agent.name}" if agent else None


def seen_marker(line: str) -> tuple[str, str] | None:
    markers = parse_markers(line)
    return (markers[0].type.value, markers[0].label) if markers else None


@dataclass(frozen=True)
class Case:
    line: str
    before: object
    now: object
    #: Empty: both see the same.
    deliberate: str = ""


MARKERS = [
    Case("[CONCESSION: fair]", ("concession", "fair"), ("concession", "fair")),
    Case("[REFINEMENT: narrower]", ("refinement", "narrower"), ("refinement", "narrower")),
    Case("no marker", None, None),
    Case("[TENSION T01: x]", ("tension", "T01: x"), ("tension", "x"), "the id is no part of the label"),
    Case("[TENSION T01: a [b] c]", ("tension", "T01: a [b"), ("tension", "a [b] c"), "brackets balance"),
    Case("[TENSION T01: x", ("tension", "T01: x"), None, "an unclosed marker is a finding"),
    Case("`[TENSION T01: x]`", ("tension", "T01: x"), None, "code says nothing"),
    Case("[TENSION Tnn: x]", ("tension", "Tnn: x"), None, "a form to fill in says nothing"),
    Case("[TENSIONLESS]", ("tension", "LESS"), None, "another word"),
    Case("- [RESOLVED T01]: y", ("resolved", "T01"), ("resolved", "y"), "the label may follow the bracket"),
]
HEADINGS = [
    Case("## Round 1: X", "round 1", "round 1"),
    Case("### Muffin 🧁", "agent Muffin", "agent Muffin"),
    Case("### 🧁 Muffin", "agent Muffin", "agent Muffin"),
    Case("## Expert Panel", None, None),
    Case("### Analysis", None, None),
    Case("### Muffin", None, "agent Muffin", "the panel knows the name"),
    Case("## Opening Arguments (Round 0)", None, "round 0", "the number may stand at the end"),
    Case("## Round 1 Summary", "round 1", None, "about a round, not its beginning"),
]


@pytest.mark.parametrize("case", MARKERS, ids=lambda case: case.line)
def test_marker_differences_are_deliberate(case):
    assert (extract_marker(case.line), seen_marker(case.line)) == (case.before, case.now)
    assert (case.before != case.now) == bool(case.deliberate)


@pytest.mark.parametrize("case", HEADINGS, ids=lambda case: case.line)
def test_heading_differences_are_deliberate(case):
    assert (linted_heading(case.line), seen_heading(case.line)) == (case.before, case.now)
    assert (case.before != case.now) == bool(case.deliberate)


def listed(text: str) -> list[tuple[int, object, object]]:
    """Return both views of a document line by line, where either finds something."""
    found = {marker.line: (marker.type.value, marker.label) for marker in reversed(parse(text).markers)}
    rows = [(n, extract_marker(line), found.get(n)) for n, line in enumerate(text.split("\n"), start=1)]
    return [row for row in rows if row[1] or row[2]]


def test_two_views_of_a_document_are_listed():
    text = "# T\n\n[CONCESSION: fair]\n\n```\n[TENSION T01: in code]\n```\n"
    assert listed(text) == [
        (3, ("concession", "fair"), ("concession", "fair")),
        (6, ("tension", "T01: in code"), None),
    ]
