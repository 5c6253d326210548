"""`symposia demo` shows all modes and leaves no process or file."""

from __future__ import annotations

import pytest

from processes.terminal import Said, Terminal
from symposia.agents.local_model.server import find_weights, require_engine
from symposia.models.errors import LocalModelError
from symposia.models.protocol.collab import CollabMode
from symposia.tasks.sessions.opening import prepare
from symposia.workers.local.demo import demo_sessions

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)

FACTS = {
    "round_robin": ("max_rounds", 6),
    "orchestrated": ("satisfied", 6),
    "pair": ("approved", 4),
    "broadcast": ("max_rounds", 3),
    "swarm": ("board_empty", 4),
}


def nothing_is_left(terminal: Terminal) -> None:
    terminal.wait_until_nothing_runs()
    assert not list(terminal.temporary.iterdir())


@pytest.mark.parametrize("kind", ["local", "scripted"])
def test_each_mode_has_a_demo(kind):
    assert [it.collab.mode for it in demo_sessions(kind)] == [
        *("round_robin", "orchestrated", "pair", "broadcast", "swarm")
    ]
    for mode in CollabMode:
        (session,) = demo_sessions(kind, mode)
        assert prepare(session, max_message_bytes=1_000).collab.mode is mode


@pytest.mark.long
def test_one_mode_is_shown_with_its_messages_and_end(bare: Terminal):
    said = bare.run("demo", "--mode", "pair", "--agents", "scripted")
    assert (said.code, said.err) == (0, "")
    for words in (
        "   1 Cleo     Every reader is welcome here",
        "   4 Reviewer APPROVED: short and clear.",
        "✓ completed: approved (short and clear.) · 4 turns · ",
        "mode  ended                turns  tokens  seconds  turns/s",
    ):
        assert words in said.out
    nothing_is_left(bare)


@pytest.mark.long
def test_demo_of_all_modes_ends_as_expected(bare: Terminal):
    sessions = bare.run("demo", "--agents", "scripted", "--json").json()["sessions"]
    assert {it["collab"]["mode"]: (it["reason"], it["turns"]) for it in sessions} == FACTS
    nothing_is_left(bare)


@pytest.mark.long
def test_demo_ignores_user_settings(bare: Terminal):
    bare.settings |= {
        "redis_url": "redis://127.0.0.1:1/0",
        "broker_url": "amqp://127.0.0.1:1//",
        "agents_file": "no.toml",
    }
    assert bare.run("demo", "--mode", "swarm", "--agents", "scripted").code == 0


@pytest.mark.long
@pytest.mark.parametrize("moment", ["at once", "Started", "Host"])
def test_ctrl_c_leaves_no_process(bare: Terminal, moment):
    assert interrupted_at(moment, bare).code == 130
    nothing_is_left(bare)


def interrupted_at(moment: str, terminal: Terminal) -> Said:
    """Return the result of a demo interrupted by Ctrl-C at this point or later.

    From the first word to the last takes it 0.2 s: where it was quicker than we, there is another.
    """
    for _ in range(20):
        running = terminal.start("demo", "--agents", "scripted", as_installed=True)
        if moment == "at once":
            terminal.wait_until_something_runs(count=2)
        else:
            running.until(moment)
        with running.held():
            if in_time := "board_empty" not in running.out:
                running.interrupt()
        said = running.ended()
        if in_time:
            return said
    raise AssertionError("it was always quicker")


@pytest.mark.long
def test_killed_demo_ends_its_processes(bare: Terminal):
    running = bare.start("demo", "--agents", "scripted").until("Started")
    running.process.kill()
    bare.wait_until_nothing_runs()


def test_missing_local_model_names_an_alternative(bare: Terminal, monkeypatch):
    monkeypatch.setattr("symposia.agents.local_model.server.find_spec", lambda _name: None)
    said = bare.call("demo")
    assert (said.code, said.out, said.err.count("\n")) == (4, "", 1)
    assert "install the local model with" in said.err
    assert "or run without it: symposia demo --agents scripted" in said.err


@pytest.mark.long
def test_demo_uses_the_local_model(bare: Terminal):
    try:
        find_weights()
        require_engine()
    except LocalModelError as error:
        pytest.skip(str(error))
    (session,) = bare.run("demo", "--mode", "broadcast", "--json", timeout_s=140).json()["sessions"]
    assert (session["reason"], session["turns"]) == ("max_rounds", 3)
    assert session["usage"]["output_tokens"] > 0
    nothing_is_left(bare)
