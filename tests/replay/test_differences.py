"""Differences between a record and its replay: one short line, which shows where they begin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.protocol.dialog import Message
from symposia.models.sessions.recorded import (
    MAX_TEXT,
    ModelPrompt,
    RecordedRequest,
    RecordedTool,
)
from symposia.replay.comparing import find_difference
from symposia.replay.differences import (
    MAX_VALUE,
    request_differences,
    text_differences,
    value_difference,
)


def request(*, model="m", settings=None, texts=(("prompt", "Hello"),), tools=(), form=""):
    prompt = ModelPrompt(model, settings or {}, texts, tools, form)
    return RecordedRequest.build("call", prompt, ())


def lines(recorded, now):
    return list(request_differences(recorded, now, recorded_tools=recorded.tools))


def test_equal_requests_have_no_difference():
    assert lines(request(), request()) == []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"model": "n"}, "model: recorded 'm', now 'n'"),
        ({"settings": {"temperature": 0.5}}, "temperature: recorded nothing, now 0.5"),
        ({"texts": [("prompt", "Hello\nyou")]}, "prompt, line 2: recorded nothing, now 'you'"),
        ({"texts": [("prompt", "Hello\n")]}, "prompt: line breaks differ"),
        ({"texts": [("tool result", "Hello")]}, "parts of the prompt: recorded 'prompt', now 'tool result'"),
        ({"texts": []}, "parts of the prompt: recorded 1, now 0"),
        ({"tools": (RecordedTool(name="add"),)}, "tools: recorded '', now 'add'"),
        ({"form": "[]"}, "form of the answer: differs"),
    ],
)
def test_change_of_a_request_is_one_line(changed, line):
    assert lines(request(), request(**changed)) == [line]


def test_changed_tool_is_named():
    old, new = (request(tools=(RecordedTool(name="add", description=it),)) for it in ("Adds.", "Sums."))
    assert lines(old, new) == ["tool 'add': its description or its parameters differ"]


def test_difference_beyond_the_stored_text_is_found():
    long = "x" * MAX_TEXT
    old, new = (request(texts=[("prompt", long + it)]) for it in ("a", "b"))
    assert lines(old, new) == [f"prompt: differs after the first {MAX_TEXT} characters"]


@given(st.text(max_size=400), st.text(max_size=400))
def test_text_difference_is_found_exactly_if_there_is_one(recorded, now):
    found = list(text_differences("message", recorded, now))
    assert bool(found) == (recorded != now)
    assert all(len(it) < 3 * MAX_VALUE + 60 for it in found)


def test_long_values_are_shown_around_their_difference():
    line = value_difference("message", "x" * 500 + "a" + "y" * 500, "x" * 500 + "b" + "y" * 500)
    assert "xxa" in line
    assert "xxb" in line
    assert len(line) < 3 * MAX_VALUE


# -- two dialogs ----------------------------------------------------------------------------------

MESSAGES = st.lists(
    st.sampled_from(["one", "two"]).map(lambda it: Message(role="user", content=it)), max_size=5
)


@given(MESSAGES, MESSAGES)
def test_dialogs_differ_at_the_first_other_message(first, second):
    found = find_difference(first, second)
    texts, others = [it.content for it in first], [it.content for it in second]
    if found is None:
        assert texts == others
        return
    at = found.position - 1
    assert texts[:at] == others[:at]
    assert texts[at : at + 1] != others[at : at + 1]
