"""Written documents are read back unchanged; rendering is stable."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from documents.dialogues import documents, markdown
from scaling import scaled_examples
from symposia.alignment.document import (
    AlignmentDialogue,
    Marker,
    MarkerRef,
    MarkerType,
    Prose,
    Round,
    Section,
    Table,
    Turn,
    parse,
    render,
    scan,
)
from symposia.alignment.document.reader import read

_SUPPRESSED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
often = settings(max_examples=scaled_examples(150), deadline=None, suppress_health_check=_SUPPRESSED)
very_often = settings(max_examples=10_000, deadline=None, suppress_health_check=_SUPPRESSED)


def reads_back(document):
    written = render(document)
    assert parse(written) == document
    assert read(written).notes == ()


def settles(text):
    once = render(parse(text))
    assert parse(once) == parse(text)
    assert render(parse(once)) == once


@given(documents)
@often
def test_every_document_is_read_back_unchanged(document):
    reads_back(document)


@given(markdown)
@often
def test_rendered_text_is_stable(text):
    settles(text)


@given(markdown)
@often
def test_raw_lines_of_a_scan_are_the_text(text):
    assert "".join(line.raw for line in scan(text)) == text


def test_panel_without_names_introduces_no_one():
    panel = Section("Expert Panel", (Table(("Agent", "Role"), (("🧁", "r"),)),))
    spoken = Round(0, "", (), (Turn("Muffin", "🧁"),))
    reads_back(AlignmentDialogue("", parts=(panel, spoken, Round(0, "", (Prose("### Muffin Response"),)))))


@pytest.mark.parametrize("extra", ["", "y"])
def test_emoji_within_a_name_stays_there(extra):
    reads_back(AlignmentDialogue("", parts=(Round(0, "", (), (Turn("Z 💙 Scone", "🐙", extra),)),)))


@pytest.mark.parametrize("quoted", ["> ```[TENSION T0]", ">~~~", "> > - ```\n> > [TENSION T0]"])
def test_quoted_code_below_an_unclosed_fence_is_kept(quoted):
    settles(f"```\n{quoted}")


@pytest.mark.parametrize("blank", ["", " ", "\t", "\u2028"])
@pytest.mark.parametrize("line", ["---", "==="])
def test_dashes_below_nothing_make_no_heading(blank, line):
    settles(f"a\n\n{blank}\n{line}")


@pytest.mark.parametrize("kind", MarkerType)
@pytest.mark.parametrize("label", ["Pnn", "C*", "T0N", "<id>", "{n} of [x]", "\\Pnn", "\\\\<id>", "\\ Pnn"])
def test_marker_label_like_a_placeholder_is_read_back(kind, label):
    called = Turn("Muffin", "🧁", "", (Marker(kind, (), label),))
    reads_back(AlignmentDialogue("", parts=(Round(0, "", (), (called,)),)))


@pytest.mark.parametrize("kind", MarkerType)
@pytest.mark.parametrize(
    "agent", ["P0", "T12", "C1", "R2", "T-1", "PN", "C_", "P0N-x", "Pam", "T-REX", "P-NEW", "T1-B"]
)
@pytest.mark.parametrize("round_", [None, 1])
def test_agent_named_like_an_id_keeps_its_ids(kind, agent, round_):
    bound = Marker(kind, (MarkerRef("T01", agent, round_), MarkerRef("P02")), "why")
    reads_back(AlignmentDialogue("", preamble=(bound,)))


@pytest.mark.parametrize("text", ["[RESOLVED C1 T01: w]", "[RESOLVED CX T01: w]", "[CONCESSION @C1 T01: w]"])
def test_marker_label_like_an_id_is_kept(text):
    (marker,) = parse(text).preamble
    assert str(marker) == text


@pytest.mark.soak
@given(documents)
@very_often
def test_many_documents_are_read_back_unchanged(document):
    reads_back(document)


@pytest.mark.soak
@given(markdown)
@very_often
def test_many_rendered_texts_are_stable(text):
    settles(text)
