"""The output of `fix` has the same rounds, turns, markers and ids as its input."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from documents.dialogues import loose, markdown
from scaling import scaled_examples
from symposia.alignment.document import Prose, fix, lint, parse

SAMPLES = Path(__file__).parents[3].parent / "shared" / "dialogues"
HEAD = "# T\n\n**Participants**: Muffin 🧁, Scone 🦊\n\n## Round 1: X\n\n"

often = settings(max_examples=scaled_examples(200), deadline=None, suppress_health_check=list(HealthCheck))
very_often = settings(often, max_examples=10_000)


def said(text: str) -> tuple[object, ...]:
    document = parse(text)
    rounds = [(it.number, it.label, [turn.heading for turn in it.turns]) for it in document.rounds]
    markers = [(it.type, it.refs, it.label, it.agent, it.round) for it in document.markers]
    sections, judge = [it.title for it in document.sections], [it.label for it in document.judge]
    words = "".join("".join(it.text.split()) for it in document.blocks() if isinstance(it, Prose))
    return rounds, markers, document.metadata, sections, judge, words


def keeps_what_it_says(text: str) -> None:
    fixed = fix(text)
    assert said(fixed) == said(text)
    assert fix(fixed) == fixed


@given(loose)
@often
def test_fixed_document_keeps_its_content(text):
    keeps_what_it_says(text)


@given(markdown)
@often
def test_any_fixed_text_keeps_its_content(text):
    keeps_what_it_says(text)


@pytest.mark.soak
@pytest.mark.timeout(900)
@given(loose)
@very_often
def test_many_fixed_documents_keep_their_content(text):
    keeps_what_it_says(text)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample dialogues are not beside the checkout")
def test_fixed_samples_keep_their_content():
    for path in sorted(SAMPLES.rglob("*.md")):
        keeps_what_it_says(path.read_bytes().decode())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # As a section of the second level, the judge's words would include the next turn.
        ("### 💙 Judge Synthesis\n\nx\n\n### Scone 🦊\n\ny\n", ["judge-form"]),
        # Without its bullet, the marker ends no list, and the fence is indented code.
        ("- [TENSION T1: x]\n\n    ```\n\n[RESOLVED T1]\n", ["turn-unread", "marker-form", "fence-unclosed"]),
    ],
)
def test_fix_that_changes_the_content_is_omitted(text, left):
    assert fix(HEAD + text) == HEAD + text
    assert [it.code.value for it in lint(HEAD + text)] == left
    keeps_what_it_says(HEAD + "- [RESOLVED T2]: y\n\n" + text)
    assert "[RESOLVED T02: y]\n" in fix(HEAD + "- [RESOLVED T2]: y\n\nwords\n\n" + text)


@pytest.mark.parametrize(
    "line",
    [
        "## Sum [TENSION T02: y]",
        "### Scone 🦊 [TENSION T02: y]",
        "[TENSION T2: y] ## Round 1: Z",
        "[TENSION T2: y] | a | b |",
        "[TENSION T2: y] ```",
        "[TENSION T2: y] <!--",
    ],
)
def test_text_beside_a_marker_keeps_its_meaning(line):
    text = f"{HEAD}### Muffin 🧁\n\n{line}\n\n[RESOLVED T01: z]\n\n-->\n\n## Round 2: Next\n"
    keeps_what_it_says(text)
    assert fix(text) != text


def test_fixing_a_line_without_an_end_makes_lines():
    assert fix("see [TENSION T1: x]") == "see\n[TENSION T01: x]"


def test_fixing_keeps_every_other_line_byte_for_byte():
    text = "\ufeff# T  \r\n\r\n odd   prose\t\r\n## ROUND 1: X\r\n- [RESOLVED T1]: y\r\n"
    assert fix(text) == "\ufeff# T  \r\n\r\n odd   prose\t\r\n## Round 1: X\r\n[RESOLVED T01: y]\r\n"
