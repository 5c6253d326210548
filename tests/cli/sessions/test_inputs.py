"""`symposia run` and `submit` with inputs and opening messages."""

from __future__ import annotations

import json

import pytest

from processes.terminal import Terminal

TEXT = """\
inputs:
  - {name: topic, help: What it is about.}
  - {name: lines, type: integer, default: 3}
  - {name: rhyme, type: boolean, default: false}
title: About {topic}
purpose: Write {lines} lines, {rhyme}.
mode: pair
messages: ["First: {topic}"]
participants: [{participant_id: ann, agent: echo}, {participant_id: bob, agent: echo}]
"""


@pytest.fixture
def file(terminal: Terminal) -> str:
    (terminal.folder / "talk.yaml").write_text(TEXT)
    return "talk.yaml"


def submit(terminal: Terminal, *options: str):
    said = terminal.call("submit", *options)
    assert said.code == 0, said.err
    session = said.out.strip()
    shown = terminal.call("show", session, "--json").json()
    plain = terminal.call("show", session).out
    terminal.call("cancel", session)
    return shown, plain


def test_options_give_values_and_messages(terminal: Terminal, file: str):
    (terminal.folder / "values.yaml").write_text("topic: windows\nlines: 5\n")
    options = ("--input", "values.yaml", "--set", "topic=a=b {lines}", "--set", "rhyme=true")
    shown, plain = submit(terminal, file, *options, "--message", "Be {brief}.", "--message", "Now.")
    assert shown["collab"]["title"] == "About a=b {lines}"
    assert shown["collab"]["purpose"] == "Write 5 lines, true."
    said = [it["content"] for it in shown["dialog"]["messages"]]
    assert said == ["First: a=b {lines}", "Be {brief}.", "Now."]
    assert shown["inputs"] == {"topic": "a=b {lines}", "lines": 5, "rhyme": True}
    assert 'inputs: topic="a=b {lines}", lines=5, rhyme=true' in plain


def test_inputs_of_a_file_are_listed(terminal: Terminal, file: str):
    lines = terminal.call("run", file, "--inputs").out.splitlines()
    assert lines[0].split() == ["input", "type", "default", "choices", "help"]
    assert lines[1].split() == ["topic", "string", "(required)", "What", "it", "is", "about."]
    assert lines[2].split() == ["lines", "integer", "3"]
    listed = terminal.call("run", file, "--inputs", "--json").json()
    assert [it["name"] for it in listed] == ["topic", "lines", "rhyme"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((), "talk.yaml:1: inputs.topic: is required, of type string: What it is about."),
        (("--set", "topic"), "--set: must be NAME=VALUE (got 'topic')"),
        (("--set", "topic=x", "--set", "topic=y"), "--set: must give 'topic' one value (got 'topic=y')"),
        (
            ("--set", "topik=x"),
            "talk.yaml:1: inputs.topik: must be an input of the session file (known: topic",
        ),
        (("--set", "topic=x", "--set", "lines=3.5"), "talk.yaml:1: inputs.lines: must be an integer"),
        (
            ("--set", "topic=x", "--set", "rhyme=yes"),
            "talk.yaml:1: inputs.rhyme: must be true or false (got 'yes')",
        ),
        (("--input", "list.json"), "--input: must contain a table of inputs by name (got 'list.json')"),
        (("--input", "none.json"), "none.json: cannot be read"),
        (("--set", "topic=x", "--message", " "), "messages[1].content: must not be blank (got ' ')"),
    ],
)
@pytest.mark.parametrize("command", ["run", "submit"])
def test_bad_options_are_refused_in_one_line(terminal: Terminal, file: str, command, options, line):
    (terminal.folder / "list.json").write_text(json.dumps(["topic"]))
    said = terminal.call(command, file, *options)
    assert (said.code, said.out) == (2, "")
    assert line in said.err
    assert said.err.count("\n") == 1


def test_standard_input_is_read_for_one_purpose_only(terminal: Terminal):
    said = terminal.run("submit", "-", "--input", "-", stdin=TEXT)
    assert said.code == 2
    assert "--input: must be a file: standard input is the session file (got '-')" in said.err
