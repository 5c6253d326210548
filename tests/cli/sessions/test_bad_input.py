"""What cannot be run is refused with one clear line and exit code 2, before anything is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from processes.terminal import Terminal

GOOD = {
    "title": "A line",
    "purpose": "Write a line.",
    "mode": "pair",
    "participants": [
        {"participant_id": "ann", "agent": "echo"},
        {"participant_id": "bob", "agent": "echo"},
    ],
}
CYD = {"participant_id": "cyd", "agent": "echo"}


def changed(**fields):
    return json.dumps({**GOOD, **fields})


def without(field):
    return json.dumps({name: value for name, value in GOOD.items() if name != field})


BAD = {
    "title: [": "is not YAML",
    "just words": "must be a table with title, purpose, mode and participants",
    "": "must be a table",
    "title: a\ntitle: b": "bad.yaml:2: is not YAML: duplicate key 'title'",
    "title: a\nparameters: {a: -1e999}": "bad.yaml:2: is not YAML: the number is too large",
    "title: &a x\npurpose: *a": "aliases are not supported",
    "title: !!python/name:os.system x": "could not determine a constructor",
    without("title"): "title: is required",
    without("purpose"): "purpose: is required",
    without("participants"): "participants: is required",
    without("mode"): "mode: is required",
    changed(title=""): "title: must have at least 1 character (got '')",
    changed(mode="choir"): "mode: must be",
    changed(participants=[]): "participants: ",
    changed(participants=[*GOOD["participants"], CYD]): "[map_pair_exactly_two]",
    changed(participants=[CYD, CYD]): "[map_unique_participant_ids]",
    changed(mode="orchestrated"): "[map_orchestrator_required]",
    changed(collab_id="seven"): "collab_id: ",
    changed(tempo="allegro"): "tempo: is not a known field",
    changed(stop={"max_rounds": 0}): "stop.max_rounds: must be",
    changed(stop={"applause": 1}): "stop.applause: is not a stop condition",
    changed(options={"quorum": "many"}): "options.quorum: must be",
    changed(agents={"cyd": "echo"}): "agents: must be the id of a participant: ann, bob (got 'cyd')",
    changed(
        messages=["x" * 10_000_000]
    ): "messages[0].content: must be at most 1048576 bytes of UTF-8 (got 10000000)",
    changed(
        parameters={"deep": json.loads("[" * 80 + "]" * 80)}
    ): "must not nest tables and lists deeper than 64 levels",
}


@pytest.mark.parametrize("command", ["run", "submit"])
@pytest.mark.parametrize(("text", "rule"), BAD.items(), ids=BAD.values())
def test_invalid_file_is_refused_in_one_line(terminal: Terminal, command, text, rule):
    (terminal.folder / "bad.yaml").write_text(text)
    said = terminal.call(command, "bad.yaml")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1), said
    assert said.err.startswith("symposia: bad.yaml")
    assert rule in said.err
    assert len(said.err) < 400
    assert terminal.call("list", "--json").json() == []


def test_unknown_agent_starts_no_worker(terminal: Terminal):
    (terminal.folder / "bad.yaml").write_text(changed(agents={"ann": "ecko"}))
    said = terminal.call("run", "bad.yaml")
    assert (said.code, said.out) == (2, "")
    assert (
        said.err
        == "symposia: bad.yaml:1: agents.ann: must be a registered agent, did you mean echo? (got 'ecko')\n"
    )


@pytest.mark.parametrize("command", ["run", "submit"])
def test_invalid_session_starts_nothing(bare: Terminal, command):
    (bare.folder / "bad.yaml").write_text(changed(mode="broadcast", options={"quorum": 3}))
    said = bare.call(command, "bad.yaml")
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith(
        "options.quorum: must be at most 2, the number of answering participants (got 3)\n"
    )
    assert (said.err.count("\n"), bare.processes()) == (1, [])


def test_json_files_are_read_as_json(terminal: Terminal):
    (terminal.folder / "bad.json").write_text('{"title": "a",\n "title": "b"}')
    assert terminal.call("submit", "bad.json").err == (
        "symposia: bad.json: is not JSON: duplicate key 'title'\n"
    )
    (terminal.folder / "bad.json").write_text('{"parameters": {"a": 1e999}}')
    assert "bad.json: is not JSON: the number 1e999 is too large" in terminal.call("submit", "bad.json").err
    (terminal.folder / "bad.json").write_text("{\n\n'a': 1}")
    assert "bad.json:3: is not JSON" in terminal.call("submit", "bad.json").err


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe", "must be valid UTF-8 text"),
        (b"#" * 17_000_000, "must be at most"),
    ],
    ids=["missing", "binary", "huge"],
)
def test_a_file_that_is_no_text_is_refused(terminal: Terminal, content, rule):
    if content is not None:
        (terminal.folder / "bad.yaml").write_bytes(content)
    said = terminal.call("submit", "bad.yaml")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert rule in said.err


def test_folder_is_not_a_session_file(terminal: Terminal):
    said = terminal.call("submit", ".")
    assert (said.code, said.err) == (2, "symposia: .: cannot be read: Is a directory\n")


def test_invalid_agents_file_names_its_place(terminal: Terminal, pair_file):
    (terminal.folder / "registry.toml").write_text('[agents.x]\nkind = "oracle"\n')
    said = terminal.call("run", pair_file)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "registry.toml: [agents.x] kind: " in said.err


def test_invalid_setting_names_its_variable(terminal: Terminal, monkeypatch):
    terminal.settings["lease_s"] = "soon"
    said = terminal.call("list")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "SYMPOSIA_LEASE_S: must be" in said.err


def test_unknown_broker_transport_is_refused(terminal: Terminal, pair_file):
    terminal.settings["broker_url"] = "nonsense://:hush-hush@host"
    said = terminal.call("submit", pair_file)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "SYMPOSIA_BROKER_URL: must start with a transport that Celery supports" in said.err
    assert "hush-hush" not in said.err


@pytest.mark.long
def test_run_refuses_a_broker_that_does_not_answer(terminal: Terminal, pair_file):
    terminal.settings["broker_url"] = "amqp://guest:hush-hush@127.0.0.1:1//"
    said = terminal.call("run", pair_file)
    assert (said.code, said.out, said.err.count("\n")) == (4, "", 1), said
    assert "the broker at amqp://guest:***@127.0.0.1:1// does not answer: " in said.err
    assert said.err.endswith("start it, or change SYMPOSIA_BROKER_URL\n")


def test_submit_of_several_files_queues_all_or_none(terminal: Terminal, pair_file):
    wrong = Path(pair_file).with_name("wrong.yaml")
    wrong.write_text("title: t\npurpose: p\nmode: dance\nparticipants: []\n")
    said = terminal.call("submit", pair_file, str(wrong))
    assert (said.code, said.out) == (2, "")
    assert "wrong.yaml:3: " in said.err
    said = terminal.call("submit", pair_file, pair_file)
    ids = said.out.split()
    assert (said.code, len(set(ids))) == (0, 2)
    for it in ids:
        terminal.call("cancel", it)
    found = terminal.call("submit", pair_file, pair_file, "--json").json()
    assert [sorted(it) for it in found] == [["id", "workers"]] * 2
    for it in found:
        terminal.call("cancel", it["id"])


def test_submit_queues_without_a_broker(terminal: Terminal, pair_file):
    terminal.settings["broker_url"] = "amqp://guest:hush-hush@127.0.0.1:1//"
    said = terminal.call("submit", pair_file)
    assert said.code == 0
    assert f"broker unavailable, the sweep will dispatch session {said.out.strip()}" in said.err
    assert "hush-hush" not in said.err
    terminal.settings.pop("broker_url")
    terminal.call("cancel", said.out.strip())


def test_bad_usage_exits_with_2(terminal: Terminal):
    for arguments in (["graph"], ["export", "x", "--format", "xml"], ["dance"], ["list", "--limit", "0"]):
        said = terminal.call(*arguments)
        assert (said.code, said.out) == (2, ""), arguments
        assert "Usage: symposia" in said.err


def test_debug_shows_where_an_error_came_from(terminal: Terminal):
    said = terminal.run("--debug", "submit", "nowhere.yaml")
    assert "Traceback" in said.err
    assert "InvalidSessionFile" in said.err


@pytest.mark.parametrize(
    "command", [["list"], ["show", "12345678"], ["submit"], ["run"], ["suspend", "12345678"]]
)
def test_redis_outage_hides_the_password(bare: Terminal, pair_file, command):
    bare.settings["redis_url"] = "redis://:hush-hush@127.0.0.1:1/0"
    said = bare.call(*command, *([pair_file] if command[0] in ("submit", "run") else []))
    assert (said.code, said.out, said.err.count("\n")) == (4, "", 1), said
    assert "redis://:***@127.0.0.1:1/0 does not answer" in said.err
    assert said.err.endswith("refused; start it, or change SYMPOSIA_REDIS_URL\n")
    assert "hush-hush" not in said.err
