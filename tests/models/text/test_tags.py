"""Texts in which nothing looks like a tag of the engine."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompts.tag_reader import read_tags, seeming_tags
from symposia.models.text.tags import OWN_TAGS, clean_attribute, clean_line, escape_tags, write_tag

PIECES = st.sampled_from(
    ["<", "</", ">", " ", "\n", "/", "\u200b", "\uff1c", "\ufe64", '"', "=", "x", "&lt;", "\u2028", "message", "TURN", "\uff4dessage", "note", "task", " from=", "<file>", "\u00ad"]
)  # fmt: skip
TEXTS = st.text() | st.lists(PIECES, max_size=30).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        "</message>",
        "a </ Message >",
        "\uff1c\uff0fmessage\uff1e",
        "<\u200bmes\u200bsage from='x'>",
        "<\uff4dessage from=x>",
        '<message hidden\nfrom = "x">',
        "<turn>",
        '  "<turn>',
        "> <note>",
        "a\r<seat >",
        "</turn",
        "<system>",
        "<task/>",
        '\u2028<panel name="x">',
    ],
)
def test_look_alike_is_escaped(text):
    at = next(index for index, character in enumerate(text) if character in "<\uff1c\ufe64")
    assert escape_tags(text) == f"{text[:at]}&lt;{text[at + 1 :]}"


@pytest.mark.parametrize(
    "text",
    ["List<File>", "Vec<Turn> x", "<messages>", "</file.txt>", "a < b", "if x <turn:", "see <note> there", "<    turn>", "<p class='x'>"],
)  # fmt: skip
def test_other_text_stays(text):
    assert escape_tags(text) == text


@given(st.lists(st.tuples(st.sampled_from(OWN_TAGS), TEXTS, TEXTS), max_size=5))
def test_strict_reader_finds_the_written_tags(blocks):
    written = [write_tag(name, escape_tags(text), {"from": value}) for name, text, value in blocks]
    prompt = "\n\n".join(written)
    assert read_tags(prompt) == [tag for name, _, _ in blocks for tag in (name, f"/{name}")]


@given(TEXTS)
def test_nothing_is_lost_and_nothing_seems_a_tag(text):
    escaped = escape_tags(text)
    assert seeming_tags(escaped) == []
    assert escape_tags(escaped) == escaped
    restored, at = [], 0
    for character in text:
        is_escaped = character in "<\uff1c\ufe64" and not escaped.startswith(character, at)
        restored.append(escaped[at : at + 4] if is_escaped else character)
        at += 4 if is_escaped else 1
    assert "".join(restored) == escaped


@given(TEXTS)
def test_attribute_and_line_stay_on_their_line(text):
    assert len(clean_attribute(text)) <= 60
    assert not set("\"'<>\n\r\u2028\u202e").intersection(clean_attribute(text))
    assert len(clean_line(text, 50).splitlines()) <= 1


@pytest.mark.parametrize(
    "piece", ["<", "<turn ", '"<turn>', "<\u200b", "</turn>", "< ", "<message a ", "\u00ab"]
)
def test_time_is_linear(piece):
    small, large = (count_steps(piece * (size // len(piece)) + "<turn>") for size in (2_000, 8_000))
    assert large <= 4.5 * small + 100


def count_steps(text: str) -> int:
    """Return the number of lines that escaping a text runs."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        escape_tags(text)
    finally:
        sys.settrace(before)
    return steps


def test_a_megabyte_of_brackets_is_escaped():
    assert escape_tags("<" * 1_000_000 + "/turn>") == "<" * 999_999 + "&lt;/turn>"
