"""Inputs of session files: declarations, values, and the texts that they fill."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import InvalidInput
from symposia.models.sessions.input_texts import fill_inputs
from symposia.models.sessions.inputs import MAX_CHARS, SessionInput, render_value

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
#: Text full of what could be read again.
TRAPS = st.lists(
    st.sampled_from(["{", "}", "{{", "}}", "{a}", "{b}", "{0}", "!!x", "- ", ": ", "\n", "\\", "%s", "é"])
    | TEXTS,
    max_size=8,
).map("".join)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TRAPS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def escape(text):
    return text.replace("{", "{{").replace("}", "}}")


def fill(text, values, **types):
    inputs = [{"name": name, "type": types.get(name, "string")} for name in values]
    return fill_inputs({"inputs": inputs, "purpose": text}, values)[0]["purpose"]


def refusal(document, given=None):
    with pytest.raises(InvalidInput) as refused:
        fill_inputs(document, given)
    return str(refused.value)


@given(TRAPS)
def test_escaped_text_means_itself(text):
    assert fill(escape(text), {}) == text


@given(TRAPS, TRAPS, TRAPS, TRAPS)
def test_value_is_put_in_once_and_as_it_is(before, between, a, b):
    text = f"{escape(before)}{{a}}{escape(between)}{{b}}{{a}}"
    assert fill(text, {"a": a, "b": b}) == before + a + between + b + a


@given(TRAPS)
def test_text_is_filled_as_by_format_or_refused(text):
    values = {"a": "{b}", "b": "x}"}
    try:
        filled = fill(text, values)
    except InvalidInput:
        return
    assert filled == text.format(**values)


@given(DATA, TRAPS)
def test_value_never_changes_the_structure(data, value):
    def marked(node, mark):
        if isinstance(node, dict):
            return {name: marked(it, mark) for name, it in node.items()}
        if isinstance(node, list):
            return [marked(it, mark) for it in node]
        return mark(node) if isinstance(node, str) else node

    document = {"inputs": [{"name": "a"}], "parameters": {"it": marked(data, lambda it: escape(it) + "{a}")}}
    filled, _ = fill_inputs(document, {"a": value})
    assert filled == {"parameters": {"it": marked(data, lambda it: it + value)}}


@given(st.dictionaries(st.sampled_from(["title", "purpose", "messages", "parameters", "agents"]), DATA))
def test_file_without_inputs_is_taken_literally(document):
    before = deepcopy(document)
    assert fill_inputs(document, None) == (before, {})
    assert document == before


@given(
    st.one_of(
        st.tuples(st.just("string"), TRAPS),
        st.tuples(st.just("integer"), st.integers(-(10**18) + 1, 10**18 - 1)),
        st.tuples(st.just("number"), st.floats(allow_nan=False, allow_infinity=False)),
        st.tuples(st.just("boolean"), st.booleans()),
    )
)
def test_rendered_value_is_read_back_from_a_command_line(case):
    kind, value = case
    found = SessionInput(name="a", type=kind).read_text(render_value(value))
    assert (found, type(found)) == (value, type(value))


@given(DATA, DATA)
def test_any_declaration_and_value_is_taken_or_refused(declared, value):
    with suppress(InvalidInput):
        fill_inputs({"inputs": declared}, value)
    with suppress(InvalidInput):
        fill_inputs({"inputs": [declared]}, {"a": value})
    with suppress(InvalidInput):
        fill_inputs({"inputs": [{"name": "a", "default": declared, "choices": [value]}]}, None)


def test_these_texts_are_filled():
    binding = {"agent": "{a}", "instructions": "{a}", "parameters": {"{a}": ["{a}", {"x": "{a}"}, 1]}}
    inner = {"title": "{a}", "participants": [{"participant_id": "{a}", "agent": dict(binding)}]}
    filled_binding = {"agent": "{a}", "instructions": "v", "parameters": {"{a}": ["v", {"x": "v"}, 1]}}
    filled_inner = {"title": "v", "participants": [{"participant_id": "{a}", "agent": filled_binding}]}
    document = {
        "inputs": [{"name": "a"}],
        **dict.fromkeys(("title", "purpose", "mode", "tenant", "thread_id", "task"), "{a}"),
        "messages": ["{a}", {"role": "{a}", "content": "{a}"}],
        "participants": [
            {"participant_id": "{a}", "role_id": "{a}", "display_name": "{a}", "agent": binding},
            {"participant_id": "x", "session": inner},
        ],
        "agents": {"{a}": binding, "y": "{a}", "z": {"session": inner}},
        "options": {"items": ["{a}", {"text": "{a}", "role": "{a}", "data": ["{a}"]}], "orchestrator": "{a}"},
        **{name: {"x": "{a}"} for name in ("parameters", "said", "defaults", "output")},
        "stop": {"text": "{a}"},
    }
    assert fill_inputs(document, {"a": "v"})[0] == {
        "title": "v",
        "purpose": "v",
        "mode": "{a}",
        "tenant": "{a}",
        "thread_id": "{a}",
        "task": "{a}",
        "messages": ["v", {"role": "{a}", "content": "v"}],
        "participants": [
            {"participant_id": "{a}", "role_id": "{a}", "display_name": "v", "agent": filled_binding},
            {"participant_id": "x", "session": filled_inner},
        ],
        "agents": {"{a}": filled_binding, "y": "{a}", "z": {"session": filled_inner}},
        "options": {"items": ["v", {"text": "v", "role": "{a}", "data": ["v"]}], "orchestrator": "{a}"},
        **{name: {"x": "v"} for name in ("parameters", "said", "defaults")},
        "output": {"x": "{a}"},
        "stop": {"text": "{a}"},
    }


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        ({}, "inputs: must be a list of tables with `name` (got {})"),
        (None, "inputs: must be a list of tables with `name` (got None)"),
        (["topic"], "inputs[0]: must be a table with `name` (got 'topic')"),
        ([{}], "inputs[0].name: is required (got nothing)"),
        ([{"name": "a b"}], "inputs[0].name: must match pattern '^[A-Za-z_][A-Za-z0-9_]*$' (got 'a b')"),
        ([{"name": "a\n"}], "inputs[0].name: must match pattern '^[A-Za-z_][A-Za-z0-9_]*$' (got 'a\\n')"),
        ([{"name": "a"}, {"name": "a"}], "inputs[1].name: must be the name of one input only (got 'a')"),
        ([{"name": "a", "size": 1}], "inputs[0].size: is not a known field (got 1)"),
        (
            [{"name": "a", "type": "integer", "default": "3"}],
            "inputs[0].default: must be an integer of at most",
        ),
        (
            [{"name": "a", "type": "boolean", "choices": [True, 1]}],
            "inputs[0].choices[1]: must be true or false",
        ),
        (
            [{"name": "a", "choices": ["x", "y"], "default": "z"}],
            "inputs[0].default: must be one of x, y (got 'z')",
        ),
        ([{"name": f"a{i}"} for i in range(101)], "inputs: must have at most 100 items (got 101)"),
    ],
)
def test_bad_declaration_is_refused(inputs, line):
    assert refusal({"inputs": inputs}).startswith(line)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (None, "inputs.topic: is required, of type string: What it is about. (got nothing)"),
        (
            {"topik": "x"},
            "inputs.topik: must be an input of the session file (known: topic, lines) (got 'x')",
        ),
        ({"topic": 3}, "inputs.topic: must be UTF-8 text of at most 32768 characters (got 3)"),
        ({"topic": None}, "inputs.topic: must be UTF-8 text of at most 32768 characters (got None)"),
        ({"topic": "\ud800"}, "inputs.topic: must be UTF-8 text of at most 32768 characters (got '\\ud800')"),
        ({"topic": "x" * (MAX_CHARS + 1)}, "inputs.topic: must be UTF-8 text of at most 32768 characters"),
        ({"topic": "x", "lines": True}, "inputs.lines: must be an integer of at most 18 digits (got True)"),
        ({"topic": "x", "lines": 10**18}, "inputs.lines: must be an integer of at most 18 digits"),
        ({"topic": "x", "lines": 5}, "inputs.lines: must be one of 1, 2 (got 5)"),
        (["topic"], "inputs: must be a table of values by name (got a list of 1)"),
    ],
)
def test_bad_value_is_refused(values, line):
    topic = {"name": "topic", "help": "What it is about."}
    lines = {"name": "lines", "type": "integer", "choices": [1, 2], "default": 1}
    assert refusal({"inputs": [topic, lines]}, values).startswith(line)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**30, True, "1"])
def test_number_is_finite_and_no_text(value):
    declared = [{"name": "a", "type": "number"}]
    assert refusal({"inputs": declared}, {"a": value}).startswith("inputs.a: must be a finite number")


def test_value_for_a_file_without_inputs_is_refused():
    assert refusal({"title": "{a}"}, {"a": "x"}) == (
        "inputs.a: must be an input of the session file (known: none) (got 'x')"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "about {topik}",
            "purpose: must be the name of an input (known: topic); write braces as `{{` and `}}` (got '{topik}')",
        ),
        (
            "{}",
            "purpose: must be the name of an input (known: topic); write braces as `{{` and `}}` (got '{}')",
        ),
        ("{topic!r}", "purpose: must be the name of an input"),
        ("{topic.x}", "purpose: must be the name of an input"),
        (
            "a { b",
            "purpose: must be closed as `{name}`, or be written `{{` or `}}`: a brace names an input (got '{ b')",
        ),
        ("a } b", "purpose: must be closed as"),
    ],
)
def test_text_with_an_unknown_name_or_a_lone_brace_is_refused(text, line):
    assert refusal({"inputs": [{"name": "topic", "default": "x"}], "purpose": text}).startswith(line)


def test_filled_texts_are_bounded():
    document = {"inputs": [{"name": "a"}], "messages": ["x", "{a}" * 1_000_000]}
    assert refusal(document, {"a": "x" * MAX_CHARS}).startswith(
        "messages[1]: must leave the texts of the file at 16777216 characters"
    )


def test_filled_document_stays_json():
    document = {"inputs": [{"name": "a"}], "parameters": {"text": "{a}"}}
    filled, values = fill_inputs(document, {"a": '"}]\n- {a}: &x'})
    assert json.loads(json.dumps(filled)) == {"parameters": {"text": '"}]\n- {a}: &x'}}
    assert values == {"a": '"}]\n- {a}: &x'}
