"""Schemas of outputs: what is accepted, what values are valid, and what checks cost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from scaling import scaled_examples
from symposia.models.errors import InvalidInput
from symposia.models.outputs import RequiredOutput, find_faults, read_schema
from symposia.models.turns.turn import TurnOutcome


class Finding(BaseModel):
    line: int | None = Field(default=None, ge=1)
    text: str


class Report(BaseModel):
    title: str
    findings: list[Finding] = []


class Tree(BaseModel):
    children: list[Tree] = []


def test_model_class_becomes_its_schema():
    schema = read_schema(Report)
    assert find_faults(schema, {"title": "x", "findings": [{"text": "y", "line": 3}]}) == ()
    assert find_faults(schema, {"title": 1, "findings": [{"line": 0}]}) == (
        "$.title: 1 is not of type 'string'",
        "$.findings[0].line: 0 is not valid under any of the given schemas",
        "$.findings[0]: 'text' is a required property",
    )


def test_recursive_models_have_valid_values():
    schema = read_schema(Tree)
    assert find_faults(schema, {"children": [{"children": []}]}) == ()
    assert find_faults(schema, {"children": [{"children": 1}]}) == (
        "$.children[0].children: 1 is not of type 'array'",
    )


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (7, "output: must be a pydantic model class or a JSON schema (a table) (got 7)"),
        ({"type": "text"}, "output.type: must be a JSON schema: 'text' is not valid"),
        ({"$ref": "other.json"}, "output.$ref: must start with `#`: a reference cannot leave the schema"),
        (
            {"properties": {"a": {"$ref": "#/$defs/a"}}},
            "output.properties.a.$ref: must be a place in the schema",
        ),
        ({"$ref": "#"}, "output: must not refer to itself without an end"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "output.$schema: must be draft 2020-12"),
        ({"$schema": []}, "output.$schema: must be draft 2020-12"),
        ({"items": {"$id": "http://example.org"}}, "output.items.$id: is not supported below the top"),
        ({"patternProperties": {}}, "output.patternProperties: is not supported"),
        (
            {"properties": {"properties": {"patternProperties": {"^(a+)+$": {}}}}},
            "output.properties.properties.patternProperties: is not supported",
        ),
        (
            {"$ref": "#/properties", "properties": {"patternProperties": {"^(a+)+$": {}}}},
            "output.$ref.patternProperties: is not supported",
        ),
        ({"$ref": "#/x", "x": {"type": "text"}}, "output.$ref.type: must be a JSON schema: 'text' is not"),
        (
            {"properties": {"a": {"$ref": "#/x"}}, "x": {"minLength": "z"}},
            "output.properties.a.$ref.minLength: must be a JSON schema: 'z' is not of type 'integer'",
        ),
        (
            {"items": {"$ref": "#/title"}, "title": "x"},
            "output.items.$ref: must be a JSON schema: 'x' is not",
        ),
        ({"$ref": "#/allOf/x", "allOf": [{}]}, "output.$ref: must be a place in the schema"),
        (
            {"$ref": "#/const", "const": {"$ref": "#/nothing"}},
            "output.$ref.$ref: must be a place in the schema",
        ),
        ({"pattern": "(?<=a)b"}, "output.pattern: must be a regular expression without look-around"),
        ({"pattern": "(a"}, "output.pattern: must be a regular expression"),
        ({"enum": [float("nan")]}, "output: must contain no number that is infinite or NaN"),
        ({"": "\udcff"}, "output: must be valid UTF-8 text"),
        ({"default": object()}, "output: must be JSON data"),
        ({"description": "x" * 70_000}, "output: must be at most 65536 bytes of JSON (got '70018 bytes')"),
    ],
)
def test_bad_schema_is_refused_in_one_line(schema, said):
    with pytest.raises(InvalidInput) as error:
        read_schema(schema)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_deep_schema_is_refused():
    schema: dict = {}
    for _ in range(70):
        schema = {"not": schema}
    with pytest.raises(InvalidInput, match="deeper than 64 levels"):
        read_schema(schema)


def test_properties_may_have_names_of_keywords():
    schema = read_schema({"properties": {"pattern": {"type": "string"}, "$ref": {"type": "integer"}}})
    assert find_faults(schema, {"pattern": "(", "$ref": 1}) == ()


@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
def test_schema_with_dialect_and_id_is_accepted(dialect):
    schema = read_schema(
        {
            "$schema": dialect,
            "$id": "https://example.org/report",
            "definitions": {"n": {"type": "integer"}},
            "items": {"$ref": "#/definitions/n"},
        }
    )
    assert find_faults(schema, [1, "x"]) == ("$[1]: 'x' is not of type 'integer'",)


def test_schema_that_doubles_its_references_is_refused():
    defs = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)}
    with pytest.raises(InvalidInput, match="without an end"):
        read_schema({"$defs": {**defs, "a40": {"type": "string"}}, "$ref": "#/$defs/a0"})


def test_costly_value_is_refused():
    schema = read_schema({"items": {"properties": {"a": {"type": "integer"}}}})
    assert find_faults(schema, [{"a": 1}] * 300_000) == ("$: needs more than 200,000 checks",)


@pytest.mark.long
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"anyOf": [{"type": "string"}] * 3_000}, [*range(100_000)]),
        ({"allOf": [{"uniqueItems": True}] * 2_000}, [*range(100_000)]),
        ({"allOf": [{"items": {}}] * 4_000}, [0] * 100_000),
        ({"items": {"properties": {f"p{number}": {} for number in range(4_000)}}}, [{}] * 100_000),
        ({"anyOf": [{"items": {"enum": [*range(8_000)]}}]}, [9_999] * 100_000),
        ({"allOf": [{"pattern": "(a|b|ab)*c"}] * 2_000}, "ab" * 400_000),
    ],
    ids=("messages", "uniqueness", "items", "properties", "values", "patterns"),
)
def test_costly_keywords_of_long_values_are_bounded(schema, value):
    checked = read_schema(schema)
    assert find_faults(checked, value) == ("$: needs more than 200,000 checks",)


def test_a_list_with_fifty_thousand_entries_is_checked():
    schema = read_schema({"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "integer"}})
    assert find_faults(schema, [*range(50_000)]) == ()


def test_data_of_a_schema_may_look_like_keywords():
    schema = read_schema({"const": {"$ref": "other.json", "pattern": "(a", "$id": "x"}})
    assert find_faults(schema, {"$ref": "other.json", "pattern": "(a", "$id": "x"}) == ()


def test_patterns_and_uniqueness_take_linear_time():
    schema = read_schema({"items": {"pattern": "^(a+)+$"}, "uniqueItems": True})
    assert find_faults(schema, ["a" * 50_000 + "b"])[0].startswith("$[0]: 'aaa")
    assert find_faults(schema, [{"a": i} for i in range(20_000)] + [{"a": 7.0}]) == (
        "$: has items that are equal",
    )


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2026-01-31", "2026-02-31"),
        ("date-time", "2026-01-31T10:00:00Z", "noon"),
        ("uuid", "3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01", "3f0c"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
    ],
)
def test_formats_of_models_are_checked(name, good, bad):
    schema = read_schema({"format": name})
    assert (find_faults(schema, good), len(find_faults(schema, bad))) == ((), 1)


def test_faults_are_limited():
    schema = read_schema({"items": {"type": "integer"}})
    faults = find_faults(schema, ["x" * 1_000] * 50)
    assert (len(faults), faults[-1], max(map(len, faults)) < 350) == (11, "and more", True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "anyOf",
        "$ref",
        "$defs",
        "pattern",
        "$schema",
        "$id",
        "enum",
        "not",
        "format",
    ]
)
SCHEMAS = st.recursive(
    JSON, lambda part: st.dictionaries(KEYWORDS, part | st.lists(part, max_size=2), max_size=4), max_leaves=12
)


@settings(max_examples=scaled_examples(300), deadline=None)
@given(SCHEMAS, JSON)
def test_any_data_is_a_schema_or_refused_in_one_line(data, value):
    said = []
    try:
        said = list(find_faults(read_schema(data), value))
    except InvalidInput as error:
        said = [str(error)]
    assert all("\n" not in line for line in said)


SIMPLE = st.recursive(
    st.sampled_from([{"type": name} for name in ("string", "integer", "null", "boolean", "number")])
    | st.builds(lambda least: {"minimum": least}, st.integers(-5, 5))
    | st.builds(
        lambda some: {"enum": some}, st.lists(st.integers(-3, 3) | st.text("ab", max_size=1), min_size=1)
    ),
    lambda part: (
        st.builds(lambda it: {"type": "array", "items": it, "uniqueItems": True}, part)
        | st.builds(lambda it: {"type": "object", "properties": {"a": it}, "required": ["a"]}, part)
        | st.builds(lambda one, other: {"anyOf": [one, other]}, part, part)
    ),
    max_leaves=5,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-6, 6) | st.sampled_from([1.0, 0.5]) | st.text("ab", max_size=2),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from("ab"), part, max_size=2),
    max_leaves=6,
)


@settings(max_examples=scaled_examples(300), deadline=None)
@given(SIMPLE, VALUES)
def test_bounded_checks_agree_with_those_of_jsonschema(data, value):
    assert (find_faults(read_schema(data), value) == ()) == Draft202012Validator(data).is_valid(value)


def test_required_property_may_have_the_name_checks():
    schema = {"type": "object", "properties": {"checks": {"type": "array"}}, "required": ["checks"]}
    assert find_faults(read_schema(schema), {"checks": []}) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"count": "3"}', {"count": 3}),
        ("{'count': 3.0,}", {"count": 3}),
        ('The result: {"count": 3} as you see.', {"count": 3}),
        ('```json\n[{"count": "3"}]\n```', {"count": 3}),
    ],
)
def test_output_in_text_is_repaired_and_fitted(text, value):
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    outcome, faults = RequiredOutput(json_schema=schema).read(TurnOutcome.say(text))
    assert (outcome.output, faults) == (value, ())


@pytest.mark.parametrize("text", ['{"count": 1}\n{"count": 2}', '{"count": "some"}', "3 of them"])
def test_output_without_one_meaning_has_faults(text):
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    assert RequiredOutput(json_schema=schema).read(TurnOutcome.say(text))[1]
