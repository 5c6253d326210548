"""Sessions on the command line: submitted, shown, paused, ended, exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from processes.terminal import Terminal

pytestmark = pytest.mark.long


@pytest.fixture
def waiting(busy: Terminal, gated_file: str) -> str:
    """The id of a session whose second turn is under way."""
    session = busy.call("submit", gated_file).out.strip()
    busy.wait_until_speaks(session, "bob")
    return session


def test_submit_prints_only_the_id(busy, pair_file):
    said = busy.call("submit", pair_file)
    assert (said.code, len(said.out), said.err) == (0, 37, "")
    assert busy.call("watch", said.out.strip()).code == 0


def test_show_has_the_end_and_the_messages(busy, spoken):
    said = busy.call("show", spoken)
    assert said.code == 0
    assert "completed" in said.out
    assert "max_rounds" in said.out
    assert said.out.count("Write one line") == 5  # the purpose, and four echoes
    assert busy.call("show", spoken, "--last", "1").out.count("Write one line") == 2


def test_id_may_be_cut_to_eight_characters(busy, spoken):
    assert busy.call("show", spoken[:8], "--json").json()["collab"]["collab_id"] == spoken
    short = busy.call("show", spoken[:7])
    assert (short.code, short.err.count("\n")) == (2, 1)
    assert "first 8 characters" in short.err


def test_unknown_session_is_not_found(busy, spoken):
    for wanted in ("0" * 8, "00000000-0000-4000-8000-000000000000"):
        said = busy.call("show", wanted)
        assert (said.code, said.err.count("\n")) == (3, 1)


def test_list_is_newest_first_and_filtered(busy, spoken, waiting, gate):
    everything = busy.call("list", "--json").json()
    assert [it["id"] for it in everything][:2] == [waiting, spoken]
    assert everything[1]["status"] == "completed"
    active = [it["id"] for it in busy.call("list", "--status", "active", "--json").json()]
    assert waiting in active
    assert spoken not in active
    assert busy.call("list", "--mode", "swarm", "--json").json() == []
    assert len(busy.call("list", "--limit", "1", "--json").json()) == 1
    assert spoken[:8] in busy.call("list").out
    assert busy.call("cancel", waiting).code == 0
    gate.touch()


def test_export_has_protocol_and_model_formats(busy, spoken, mplp):
    document = busy.call("export", spoken).json()
    mplp.validate("collab", document["collab"])
    mplp.validate("dialog", document["dialog"])
    for form in ("openai", "anthropic"):
        messages = busy.call("export", spoken, "--format", form).json()["messages"]
        assert [message["role"] for message in messages] == ["user"] + ["assistant"] * 4
        assert messages[0]["content"] == document["collab"]["purpose"]
        seen = busy.call("export", spoken, "--format", form, "--as", "bob").json()["messages"]
        assert [message["role"] for message in seen] == ["user", "assistant", "user", "assistant"]


def test_export_as_an_unknown_participant_is_refused(busy, spoken):
    unknown = busy.call("export", spoken, "--format", "openai", "--as", "zoe")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)
    assert "must be a participant: ann, bob" in unknown.err
    assert busy.call("export", spoken, "--as", "bob").code == 2


def test_export_writes_the_map_events(busy, spoken, mplp):
    document = busy.call("export", spoken, "--format", "map-events").json()
    assert document["session_id"] == spoken
    types = [event["event_type"] for event in document["events"]]
    assert (types[0], types[-1]) == ("MAPSessionStarted", "MAPSessionCompleted")
    for event in document["events"]:
        mplp.validate("map-event", event)


@pytest.mark.parametrize(
    ("form", "begin"), [("mermaid", "flowchart TD"), ("dot", "digraph"), ("text", "pair:")]
)
def test_graph_draws_every_turn(busy, spoken, form, begin):
    said = busy.call("graph", spoken, "--format", form)
    assert said.code == 0
    assert said.out.startswith(begin)
    assert said.out.count("ann") == said.out.count("bob") == 2


def test_watch_prints_every_event_to_the_end(busy, pair_file):
    session = busy.call("submit", pair_file).out.strip()
    lines = [json.loads(line) for line in busy.call("watch", session, "--json").out.splitlines()]
    kinds = [line["event"]["event_type"] for line in lines]
    assert kinds[-1] == "MAPSessionCompleted"
    assert kinds.count("MAPTurnDispatched") == kinds.count("MAPTurnCompleted") == 4
    said = [message["content"] for line in lines for message in line.get("messages", [])]
    assert len(said) == 4


def test_suspended_session_is_silent_until_resumed(busy, waiting, gate):
    watching = busy.start("watch", waiting).until("ann")
    assert busy.call("suspend", waiting, "--json").json() == {"id": waiting, "status": "suspended"}
    watching.until("suspended")
    gate.touch()
    assert busy.call("resume", waiting).code == 0
    said = watching.until("resumed").ended()
    assert said.code == 0
    assert "completed" in said.out
    again = busy.call("resume", waiting)
    assert (again.code, again.err) == (
        2,
        "symposia: session has already ended (completed) and cannot be resumed\n",
    )


def test_stopped_session_completes_after_running_turns(busy, waiting, gate):
    assert busy.call("stop", waiting).code == 0
    assert "stops after the turns in flight" in busy.call("show", waiting).out
    gate.touch()
    assert busy.call("watch", waiting).code == 0
    ended = busy.call("show", waiting, "--json").json()
    assert (ended["status"], ended["reason"], ended["turns"]) == ("completed", "stop_requested", 2)


def test_watching_a_cancelled_session_exits_with_1(busy, waiting, gate):
    watching = busy.start("watch", waiting).until("ann")
    assert busy.call("cancel", waiting, "--reason", "wrong question").code == 0
    said = watching.ended()
    assert said.code == 1
    assert "wrong question" in said.out
    gate.touch()


def test_ctrl_c_leaves_a_watched_session_running(busy, waiting, gate):
    said = busy.start("watch", waiting).until("ann").interrupt().ended()
    assert said.code == 130
    assert (
        said.err
        == f"Stopped watching. Session {waiting} continues. To cancel it: symposia cancel {waiting}\n"
    )
    assert busy.call("show", waiting, "--json").json()["status"] == "active"
    gate.touch()
    assert busy.call("watch", waiting).code == 0


def test_draft_waits_until_it_is_activated(busy, pair_file, tmp_path):
    started = busy.call("submit", "--draft", pair_file).out.strip()
    file = tmp_path / "draft.yaml"
    file.write_text(f"{Path(pair_file).read_text()}\ndraft: true\n")
    dropped = busy.call("submit", str(file)).out.strip()
    drafts = [it["id"] for it in busy.call("list", "--status", "draft", "--json").json()]
    assert {started, dropped} <= set(drafts)
    assert f"`symposia activate {started[:8]}` starts it" in busy.call("show", started).out
    stopped = busy.call("stop", started)
    assert (stopped.code, stopped.err) == (
        2,
        "symposia: session is a draft and cannot be completed: activate or cancel it\n",
    )
    assert busy.call("activate", started, "--json").json() == {"id": started, "status": "active"}
    assert busy.call("watch", started).code == 0
    assert busy.call("cancel", dropped).code == 0
    assert "cancelled" in busy.call("graph", dropped).out
