"""JSON of models: repaired where it has one meaning, and fitted to a schema."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.lax_json import fit, read_objects, read_one

VALUE = {"a": 1, "b": [True, None]}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": [true, null]}',
        '```json\n{"a": 1, "b": [true, null]}\n```',
        '```\n{"a": 1, "b": [true, null]}\n```\nThat is all.',
        'Here it is: {"a": 1, "b": [true, null]} - good?',
        '{"a": 1, "b": [true, null],}',
        "{'a': 1, 'b': [True, None]}",
        '{"a": 1, // the first\n "b": [true, null]}',
        '{"a": 1, "b": [true, null]',
        'So: {"a": 1, "b": [true, null',
        "```json\n{'a': 1, 'b': [True, None],}\n```",
        '{"a": 2}\nNo, better:\n{"a": 1, "b": [true, null]}',
        '{"a": 1, "b": [true, null]}\n{"a": 1, "b": [true, null]}',
    ],
)
def test_value_with_one_meaning_is_read(text):
    assert read_one(text) == VALUE


@pytest.mark.parametrize("text", ["", "no JSON", '{"a": 1}\n{"a": 2}', '{"a": 1} {"a": 2}', "a < b", "x{y"])
def test_text_without_one_meaning_is_refused(text):
    with pytest.raises(ValueError, match="JSON"):
        read_one(text)


NUMBER, COUNT, FLAG = {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
ITEM = {"type": "object", "properties": {"n": COUNT}, "additionalProperties": False}
TREE = {"$defs": {"node": {"type": "object", "properties": {"n": COUNT, "next": {"$ref": "#/$defs/node"}}}}}


@pytest.mark.parametrize(
    ("value", "schema", "fitted"),
    [
        ("3", COUNT, 3),
        (" 3 ", COUNT, 3),
        (3.0, COUNT, 3),
        ("3.0", COUNT, 3),
        ("3.5", COUNT, "3.5"),
        ("12 EUR", NUMBER, "12 EUR"),
        ("2.5", NUMBER, 2.5),
        ("true", FLAG, True),
        ("No", FLAG, False),
        (1, FLAG, 1),
        ({"n": "1"}, {"type": "array", "items": ITEM}, [{"n": 1}]),
        ([{"n": "1"}], ITEM, {"n": 1}),
        ({"n": 1, "mood": "good"}, ITEM, {"n": 1}),
        ("3", {"anyOf": [COUNT, {"type": "null"}]}, 3),
        ("3", {"anyOf": [COUNT, {"type": "string"}]}, "3"),
        ("3", {"type": ["integer", "null"]}, 3),
        (None, {"type": ["integer", "null"]}, None),
        ({"n": "1", "next": {"n": "2"}}, {"$ref": "#/$defs/node", **TREE}, {"n": 1, "next": {"n": 2}}),
    ],
)
def test_value_is_fitted_to_its_schema(value, schema, fitted):
    assert fit(value, schema) == fitted


@given(st.text(alphabet="{}[]\",:'`\n a1tn", max_size=60))
def test_any_text_is_read_or_refused(text):
    read_objects(text, whole=True)
    read_objects(text, whole=False)
    with suppress(ValueError):
        read_one(text)


@pytest.mark.long
@pytest.mark.parametrize("unit", ["{", "[", '{"a": 1} ', '{"a": 1},', "```json\n{}\n```\n", '{"'])
def test_megabyte_is_read_quickly(unit):
    text = unit * (1_048_576 // len(unit))
    read_objects(text, whole=True)
    read_objects(text, whole=False)
