"""Session files with inputs: read, filled, and refused with the name of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symposia.jobs.session_file import SessionFile, read_session_document, read_submission
from symposia.models.errors import InvalidInput, InvalidSessionFile

BODY = """\
title: About {topic}
purpose: Write {lines} lines about {topic}; write {{}} as braces.
mode: pair
messages: ["{topic}"]
participants:
  - {participant_id: ann, agent: {agent: echo, instructions: "{lines} lines"}}
  - {participant_id: bob, agent: echo}
"""
INPUTS = """\
inputs:
  - {name: topic, help: What it is about.}
  - {name: lines, type: integer, default: 3}
"""


@pytest.fixture
def path(tmp_path) -> Path:
    file = tmp_path / "talk.yaml"
    file.write_text(INPUTS + BODY)
    return file


def test_values_are_in_the_texts_and_kept(path):
    submission = SessionFile.open(str(path)).submission({"topic": "{lines}: !!x\n- y"})
    assert submission.collab.title == "About {lines}: !!x\n- y"
    assert submission.collab.purpose == "Write 3 lines about {lines}: !!x\n- y; write {} as braces."
    assert [it.content for it in submission.messages] == ["{lines}: !!x\n- y"]
    assert submission.agents["ann"].instructions == "3 lines"
    assert submission.inputs == {"topic": "{lines}: !!x\n- y", "lines": 3}


def test_file_without_inputs_keeps_its_braces(path):
    path.write_text(BODY)
    submission = SessionFile.open(str(path)).submission()
    assert submission.collab.title == "About {topic}"
    assert submission.collab.purpose.endswith("write {{}} as braces.")
    assert submission.inputs == {}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (None, "1: inputs.topic: is required, of type string: What it is about. (got nothing)"),
        ({"topic": "x", "lines": "3"}, "1: inputs.lines: must be an integer of at most 18 digits (got '3')"),
        ({"topic": "x", "tempo": 1}, "1: inputs.tempo: must be an input of the session file"),
        ({"topic": ""}, "7: messages[0].content: must not be blank"),
    ],
)
def test_bad_value_is_refused_with_file_and_line(path, given, line):
    from symposia.tasks.sessions.opening import prepare

    source = SessionFile.open(str(path))
    with pytest.raises(InvalidSessionFile) as refused, source.name_file_in_errors():
        prepare(source.submission(given), max_message_bytes=1_000)
    assert str(refused.value).startswith(f"{path}:{line}")
    assert "\n" not in str(refused.value)


def test_bad_declaration_and_text_are_refused_with_their_lines(path):
    path.write_text(INPUTS.replace("integer", "whole") + BODY)
    with pytest.raises(InvalidSessionFile, match=r"talk\.yaml:3: inputs\[1\]\.type: must be "):
        SessionFile.open(str(path)).inputs()
    path.write_text(INPUTS + BODY.replace("{lines} lines about", "{line} lines about"))
    with pytest.raises(InvalidSessionFile, match=r"talk\.yaml:5: purpose: must be the name of an input"):
        SessionFile.open(str(path)).submission({"topic": "x"})


def test_options_replace_those_of_the_file(path):
    how = {"inputs": {"topic": "doors"}, "agents": {"bob": "local"}, "messages": ["{topic}"], "tenant": None}
    submission = read_submission(path, how)
    assert {name: it.agent for name, it in submission.agents.items()} == {"ann": "echo", "bob": "local"}
    assert [it.content for it in submission.messages] == ["{topic}"], "an argument is taken literally"
    assert submission.collab.title == "About doors"


def test_sub_session_has_the_defaults_of_its_file(path):
    outer = path.with_name("outer.yaml")
    outer.write_text(
        "title: T\npurpose: '{x}'\nmode: round_robin\nparticipants: [{participant_id: p, session: talk.yaml}]\n"
    )
    with pytest.raises(InvalidInput, match=r"talk\.yaml:1: inputs\.topic: is required"):
        SessionFile.open(str(outer)).submission()
    path.write_text(path.read_text().replace("{name: topic,", "{name: topic, default: doors,"))
    inner = SessionFile.open(str(outer)).submission().agents["p"].session
    assert (inner["title"], "inputs" in inner) == ("About doors", False)
    assert read_session_document(path)["title"] == "About doors"


def test_inputs_inside_a_sub_session_table_are_refused(path):
    table = {"title": "T", "purpose": "P", "mode": "pair", "inputs": []}
    path.write_text(json.dumps({**table, "participants": [{"participant_id": "p", "session": table}]}))
    with pytest.raises(InvalidInput, match=r"session\.inputs: must be set at the top of a session file"):
        SessionFile.open(str(path)).submission()
