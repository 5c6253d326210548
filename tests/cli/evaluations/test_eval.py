"""`symposia eval` with real workers: table, files, exit codes, and runs that run once."""

from __future__ import annotations

from pathlib import Path

import pytest

from live import until
from processes.terminal import Terminal
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.state.redis.connect import connect

EXAMPLE = Path(__file__).parents[3] / "examples" / "eval" / "cases.yaml"

#: The tests share a worker, and each evaluation has another name, so that it has runs of its own.
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def client_of(terminal: Terminal) -> Client:
    return Client(
        load_settings(
            redis_url=terminal.settings["redis_url"],
            data_dir=Path(terminal.settings["data_dir"]),
            archive=True,
        )
    )


def sessions_of(terminal: Terminal) -> set[str]:
    with client_of(terminal) as client:
        return {job.id for job in client.each_job()}


def test_variants_are_scored_and_compared(busy: Terminal, cases_file, tmp_path):
    said = busy.call(
        "eval",
        str(cases_file),
        "--name",
        "compared",
        "--json",
        "--html",
        str(tmp_path / "r.html"),
    )
    *progress, title, plain, both = said.err.splitlines()
    assert (said.code, progress[-1]) == (0, "Evaluated 4 of 4 runs, 0 tokens, $0.")
    assert [line.split()[:4] for line in (title, plain, both)] == [
        ["variant", "score", "spread", "contains"],
        ["plain", "0.500", "0.707", "0.500"],
        ["both", "1.000", "0.000", "1.000"],
    ]
    written = said.json()
    assert [(it["variant"], it["score"]) for it in written["variants"]] == [("plain", 0.5), ("both", 1.0)]
    assert [(it["case"], it["variant"], it["answer"]) for it in written["runs"]] == [
        ("door", "plain", "Close the door."),
        ("door", "both", "Close the door under the lamp."),
        ("lamp", "plain", "Close the door."),
        ("lamp", "both", "Close the door under the lamp."),
    ]
    assert "Close the door under the lamp." in (tmp_path / "r.html").read_text()


def test_the_same_command_again_runs_nothing_again(busy: Terminal, cases_file):
    first = busy.call("eval", str(cases_file), "--name", "again", "--json")
    before = sessions_of(busy)
    second = busy.call("eval", str(cases_file), "--name", "again", "--json")
    assert (second.json(), sessions_of(busy)) == (first.json(), before)
    assert "4 of 4 runs, 4 of them run before" in second.err
    third = busy.call("eval", str(cases_file), "--name", "again", "--fresh", "--json")
    assert third.json()["name"].startswith("again-")
    assert f"--name {third.json()['name']}" in third.err
    assert len(sessions_of(busy) - before) == 4


def test_exit_code_follows_the_threshold(busy: Terminal, cases_file):
    assert busy.call("eval", str(cases_file), "--min-score", "0.5").code == 0
    assert busy.call("eval", str(cases_file), "--min-score", "0.6").code == 1
    assert busy.call("eval", str(cases_file), "--min-score", "2").code == 2


def test_a_failed_session_scores_0_and_is_listed(busy: Terminal, cases_file):
    changes = "{agents: {writer: {agent: moody, parameters: {fails: 9}}}, policy: {attempts: 1}}"
    cases_file.write_text(cases_file.read_text().replace("plain: {}", f"plain: {changes}"))
    said = busy.call("eval", str(cases_file), "--name", "failing", "--min-score", "0.1", "--json")
    assert said.code == 1
    plain, both = said.json()["variants"]
    assert (plain["score"], plain["failed"], both["score"]) == (0.0, 2, 1.0)
    assert "door / plain #1: session failed: failed" in said.err


def test_a_limit_stops_submitting_and_a_higher_one_continues(busy: Terminal, cases_file):
    text = cases_file.read_text().replace("variants:", "limits: {max_tokens: 1}\nparallel: 1\nvariants:")
    text = text.replace('{agent: echo, parameters: {replies: ["Close the door."]}}', "spender")
    cases_file.write_text(text)
    said = busy.call("eval", str(cases_file), "--name", "limited", "--json")
    assert said.code == 1
    states = [it["state"] for it in said.json()["runs"]]
    assert states == ["completed", "not_run", "not_run", "not_run"]
    cases_file.write_text(text.replace("max_tokens: 1", "max_tokens: 1000"))
    more = busy.call("eval", str(cases_file), "--name", "limited", "--json")
    assert {it["state"] for it in more.json()["runs"]} == {"completed"}
    assert more.json()["runs"][0] == said.json()["runs"][0]


def test_a_scorer_that_fails_exits_with_1(busy: Terminal, cases_file):
    cases_file.write_text(cases_file.read_text() + '  - {program: ["./none.py"]}\n')
    said = busy.call("eval", str(cases_file))
    assert said.code == 1
    assert "door / plain #1: program: program ./none.py failed with exit code 127" in said.out


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("expect: lamp", "expects: lamp", "cases.yaml:14: cases[1].expects: is not a known field"),
        ("plain: {}", "plain: {mode: duet}", "variants.plain.mode: must be"),
        (
            "plain: {}",
            "plain: {agents: {eve: echo}}",
            "variants.plain.agents: must be the id of a participant",
        ),
        (
            "plain: {}",
            "plain: {agents: {writer: nobody}}",
            "variants.plain.agents.writer: must be a registered agent",
        ),
        ("answer_by: writer", "answer_by: eve", "answer_by: must be the id of a participant"),
        (
            "contains:",
            "judge: nobody, criteria:",
            "scorers[0].judge.agents.judge: must be a registered agent",
        ),
        ("contains:", "contain:", "scorers[0].contain: is not a known field"),
        (
            "expect: lamp",
            "expect: lamp, inputs: {topic: lamp}",
            "cases.yaml:14: cases[1].inputs.topic: must be an input of the session file (known: none), in case 'lamp'",
        ),
    ],
)
def test_bad_input_gets_one_line_and_submits_nothing(busy: Terminal, cases_file, old, new, line):
    before = sessions_of(busy)
    cases_file.write_text(cases_file.read_text().replace(old, new))
    said = busy.call("eval", str(cases_file), "--name", "bad")
    assert (said.code, said.out, sessions_of(busy)) == (2, "", before)
    assert line in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("path", ["no/r.html", ".", "-"])
def test_a_file_that_cannot_be_written_is_refused_first(busy: Terminal, cases_file, path):
    said = busy.call("eval", str(cases_file), "--html", path)
    assert said.code == 2
    assert "html: must be " in said.err


def test_the_example_runs_with_a_program_and_a_judge(busy: Terminal):
    said = busy.call("eval", str(EXAMPLE), "--min-score", "0.5", "--json")
    assert said.code == 0
    assert [it["scorers"] for it in said.json()["variants"]] == [
        {"contains": 0.5, "short": 1.0, "words": 0.8, "polite": 0.8},
        {"contains": 1.0, "short": 1.0, "words": 0.6, "polite": 0.8},
    ]


def test_the_python_interface_gives_the_same(busy: Terminal, cases_file):
    seen = []
    with client_of(busy) as client:
        result = client.evaluate(cases_file, name="python", on_progress=seen.append)
    assert [(it.variant, it.score) for it in result.summaries] == [("plain", 0.5), ("both", 1.0)]
    assert (seen[-1].done, seen[-1].runs) == (4, 4)
    again = busy.call("eval", str(cases_file), "--name", "python", "--json")
    assert again.json() == result.to_json()


def test_cases_give_values_to_inputs(busy: Terminal, cases_file):
    text = cases_file.read_text().replace("  title: A sign", "  title: A sign\n  inputs: [{name: topic}]")
    text = text.replace('["Close the door."]', '["Close the {topic}."]')
    for name in ("door", "lamp"):
        text = text.replace(f"message: A {name}.", f"inputs: {{topic: {name}}}")
    cases_file.write_text(text)
    said = busy.call("eval", str(cases_file), "--name", "inputs", "--json").json()
    answers = [(it["variant"], it["answer"]) for it in said["runs"]]
    both = ("both", "Close the door under the lamp.")
    assert answers == [("plain", "Close the door."), both, ("plain", "Close the lamp."), both]
    with client_of(busy) as client:
        assert client.get_job(said["runs"][0]["session"]).spec.inputs == {"topic": "door"}


def test_archived_sessions_are_read_and_not_run_again(busy: Terminal, cases_file):
    first = busy.call("eval", str(cases_file), "--name", "archived", "--json")
    ids = [run["session"] for run in first.json()["runs"]]
    with client_of(busy) as client, connect(busy.settings["redis_url"]) as redis:
        until(
            lambda: (reader := client.archived()) and all(map(reader.has_ended, ids)),
            what="the sessions are archived",
        )
        redis.delete(*(key for it in ids for key in redis.scan_iter(f"symposia:{{{it}}}:*")))
        second = busy.call("eval", str(cases_file), "--name", "archived", "--json")
        assert second.json() == first.json()
        assert not any(client.get_job(it).is_live for it in ids)
