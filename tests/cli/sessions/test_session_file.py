"""Session files: plain YAML or JSON, read without surprises."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from symposia.jobs.session_file import SessionFile
from symposia.jobs.strict_data import NotYaml, line_of, read_yaml
from symposia.models.errors import InvalidInput, InvalidSessionFile

TEXT = """\
title: A line
purpose: Write a line.
mode: pair
participants:
  - participant_id: ann
    agent: echo
  - participant_id: bob
    kind: robot
"""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *(
            ("no", "no"),
            ("on", "on"),
            ("12:30", "12:30"),
            ("2026-01-01", "2026-01-01"),
            ("0x1f", "0x1f"),
            ("1_000", "1_000"),
        ),
        *(("true", True), ("False", False), ("null", None), ("~", None), ("", None)),
        *(
            ("12", 12),
            ("-3", -3),
            ("010", 10),
            ("1.5", 1.5),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("-2.5e-1", -0.25),
        ),
        *(("9" * 30, "9" * 30), ("1.2.3", "1.2.3"), ("e3", "e3"), (".", "."), ("-", [None]), ("'12'", "12")),
    ],
)
def test_scalars_follow_the_yaml_core_schema(written, read):
    assert read_yaml(f"value: {written}" if written != "-" else "value:\n-") == {"value": read}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(categories=("L", "N")), min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(categories=("L", "N")), min_size=1), JSON, max_size=4))
def test_json_is_read_as_yaml(document):
    assert read_yaml(json.dumps(document, ensure_ascii=False)) == document


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text):
    with suppress(NotYaml):
        read_yaml(text)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("mode", 3),
        ("participants[0].agent", 6),
        ("participants[1].kind", 8),
        ("participants[1].role_id", 7),
        ("participants[9]", 4),
        ("nothing", None),
    ],
)
def test_line_of_a_field_is_found(path, line):
    assert line_of(TEXT, path) == line


def test_invalid_file_is_reported_with_its_line():
    with pytest.raises(InvalidSessionFile) as caught:
        SessionFile("talk.yaml", TEXT).submission()
    assert str(caught.value).startswith("talk.yaml:8: participants[1].kind: must be")
    assert isinstance(caught.value.__cause__, InvalidInput)


@pytest.mark.parametrize("name", ["talk.json", "talk"])
def test_json_is_read_with_all_its_escapes(tmp_path, name):
    path = tmp_path / name
    document = yaml.safe_load(TEXT) | {"purpose": "Say \U0001f600."}
    del document["participants"][1]["kind"]
    path.write_text("\ufeff" + json.dumps(document))
    submission = SessionFile.open(str(path)).submission()
    assert submission.collab.purpose == "Say \U0001f600."
    assert submission.agents["ann"].agent == "echo"


HEAD = "title: A line\npurpose: Write it.\nmode: pair\nparameters:"
MANY = 1_000_000
TOO_MANY = "must contain at most 250,000 keys and values"
TOO_DEEP = "must not nest tables and lists deeper than 64 levels"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(f"{HEAD} {'[' * MANY}", f"talk:4: {TOO_DEEP}", id="lists in lists"),
        pytest.param(f"{HEAD} {'{a: ' * MANY}", f"talk:4: {TOO_DEEP}", id="tables in tables"),
        pytest.param(f"{HEAD}\n  {'- ' * MANY}", f"talk:5: {TOO_DEEP}", id="lists by dashes"),
        pytest.param(f"{HEAD} [{'a: b,' * MANY}]", f"talk:4: {TOO_MANY}", id="pairs"),
        pytest.param(HEAD + "\n" + "  - a\n" * MANY, f"talk:249996: {TOO_MANY}", id="items"),
        pytest.param('{"a": [' + "{}," * MANY + "{}]}", f"talk: {TOO_MANY}", id="JSON"),
        pytest.param('{"a": ' + "[" * MANY, f"talk: {TOO_MANY}", id="JSON lists in lists"),
        pytest.param(
            "{" + "".join(f'"k{i}":1,' for i in range(60_000)) + '"x":1,"x":2}',
            "talk: is not JSON: duplicate key 'x'",
            id="JSON keys",
        ),
    ],
)
def test_document_beyond_the_limits_is_refused_early(text, rule):
    with pytest.raises(InvalidSessionFile) as caught:
        SessionFile("talk", text).submission()
    assert str(caught.value) == rule


def test_separators_in_json_strings_are_text():
    text = json.dumps({"purpose": ',:[{\\"' * 100_000})
    with pytest.raises(InvalidSessionFile, match="title: is required"):
        SessionFile("talk.json", text).submission()


def test_json_string_without_an_end_is_refused_early():
    with pytest.raises(InvalidSessionFile, match="is not JSON: Unterminated string"):
        SessionFile("talk.json", '{"a": "' + '\\"' * MANY).submission()


def test_line_search_stops_at_the_limits():
    assert line_of(f"{HEAD} {'[' * MANY}", "parameters") is None


def write_schema(folder, text, *, more=""):
    (folder / "report.json").write_text(text)
    file = folder / "session.yaml"
    file.write_text(TEXT.replace("robot", "human") + "output_schema: report.json\n" + more)
    return SessionFile.open(str(file))


def test_schema_is_read_from_a_file_beside_the_session_file(tmp_path):
    submission = write_schema(tmp_path, '{"type": "object"}', more="output_by: ann\n").submission()
    assert (submission.output, submission.output_by) == ({"type": "object"}, "ann")


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("{", "", "report.json:1: is not JSON"),
        ('{"type": "x"}', "", "report.json: must contain a valid JSON schema"),
        ("[]", "", "report.json: must contain a valid JSON schema"),
        ("{}", "output: {}\n", "session.yaml:9: output_schema: must not be set together with `output`"),
    ],
)
def test_bad_schema_file_is_refused(tmp_path, text, more, said):
    with pytest.raises(InvalidSessionFile) as error:
        write_schema(tmp_path, text, more=more).submission()
    assert said in str(error.value)


def test_schema_file_must_exist(tmp_path):
    source = write_schema(tmp_path, "{}")
    (tmp_path / "report.json").unlink()
    with pytest.raises(InvalidSessionFile, match=r"report\.json: cannot be read"):
        source.submission()
