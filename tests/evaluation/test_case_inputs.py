"""Inputs of cases, in the session file that a cases file names, and in the files that this one names."""

from __future__ import annotations

import pytest

from symposia.evaluation.cases_file import CasesFile
from symposia.models.errors import InvalidInput, InvalidSessionFile

SESSION = """
title: A letter
purpose: Write about {topic}.
mode: round_robin
inputs:
  - {name: topic}
participants: [{participant_id: ann, agent: {session: team/inner.yaml}}]
output_schema: form.json
"""
INNER = """
title: Inside
purpose: Say {topic} and {{that}}.
mode: round_robin
inputs: [{name: topic, default: hello}]
participants: [{participant_id: bob, agent: echo}]
stop: {max_turns: 1}
"""
CASES = """
session: sessions/letter.yaml
cases:
  - {name: doors, inputs: {topic: doors}}
variants:
  plain: {}
  other: {agents: {ann: {session: other.yaml}}}
scorers:
  - {contains: a}
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "sessions" / "team").mkdir(parents=True)

    def written(*, session=SESSION, inner=INNER, cases=CASES):
        (tmp_path / "sessions/letter.yaml").write_text(session)
        (tmp_path / "sessions/team/inner.yaml").write_text(inner)
        (tmp_path / "sessions/form.json").write_text('{"title": "{topic}", "type": "object"}')
        (tmp_path / "other.yaml").write_text(INNER.replace("Say", "Sing"))
        (tmp_path / "cases.yaml").write_text(cases)
        return str(tmp_path / "cases.yaml")

    return written


def test_values_count_in_the_session_and_not_in_the_files_that_it_names(write):
    plain, other = CasesFile.open(write()).evaluation.runs()
    assert plain.document["purpose"] == other.document["purpose"] == "Write about doors."
    inner = plain.document["participants"][0]["agent"]["session"]
    assert inner["purpose"] == "Say hello and {that}."
    assert plain.document["output"]["title"] == "{topic}"
    assert other.document["agents"]["ann"]["session"]["purpose"] == "Sing hello and {that}."


def test_cases_without_inputs_leave_braces_in_files(write):
    session = SESSION.replace("{topic}", "{it}").replace("inputs:\n  - {name: topic}\n", "")
    cases = CASES.replace("inputs: {topic: doors}", "message: m")
    run = next(CasesFile.open(write(session=session, cases=cases)).evaluation.runs())
    assert run.document["purpose"] == "Write about {it}."
    assert run.document["participants"][0]["agent"]["session"]["purpose"] == "Say hello and {that}."


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (
            "purpose: Write about {topic}",
            "purpose: Write about {topics}",
            "letter.yaml:3: purpose: must be the name",
        ),
        ("- {name: topic}", "- {name: topic, type: text}", "letter.yaml:6: inputs[0].type: must be"),
    ],
)
def test_errors_of_the_session_file_name_it(write, old, new, line):
    with pytest.raises(InvalidSessionFile) as error:
        CasesFile.open(write(session=SESSION.replace(old, new)))
    assert line in str(error.value)


def test_a_wrong_input_is_named_with_line_and_case(write):
    with pytest.raises(InvalidInput) as error:
        CasesFile.open(write(cases=CASES.replace("topic: doors", "tone: doors")))
    rule = "cases[0].inputs.tone: must be an input of the session file (known: topic), in case 'doors' (got 'doors')"
    assert str(error.value).endswith(f"cases.yaml:4: {rule}")
