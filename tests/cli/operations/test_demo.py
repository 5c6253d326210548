"""`symposia demo` shows all modes and leaves no process or file."""

from __future__ import annotations

import pytest

from live import result_of
from processes.terminal import Said, Terminal
from sessions.inline_installation import InlineInstallation
from symposia.agents.local_model.server import find_weights, require_engine
from symposia.client import installation_of
from symposia.models.errors import LocalModelError
from symposia.models.protocol.collab import CollabMode
from symposia.tasks.sessions.opening import prepare
from symposia.workers.local.demo import RECORDED, demo_sessions
from symposia.workers.local.demo.sessions import write_agents_file

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)

#: Reason, turns, and the beginning of the last text by mode.
FACTS = {
    "round_robin": ("max_rounds", 6, "Decision: no deployment before the weekend"),
    "orchestrated": ("satisfied", 8, "Since Tuesday the link goes through a domain on a block list"),
    "pair": ("approved", 4, "APPROVED: the sum is exact"),
    "broadcast": ("max_rounds", 4, "All three agree that the work itself is about six weeks"),
    "swarm": ("board_empty", 5, "Outage of 14 March, 09:04 to 10:03"),
}


def nothing_is_left(terminal: Terminal) -> None:
    terminal.wait_until_nothing_runs()
    assert not list(terminal.temporary.iterdir())


@pytest.mark.parametrize("agents", ["recorded", "local", "openai:gpt-5"])
def test_each_mode_has_a_demo(agents):
    assert [it.collab.mode for it in demo_sessions(agents)] == [*FACTS]
    for mode in CollabMode:
        (session,) = demo_sessions(agents, mode)
        assert prepare(session, max_message_bytes=2_000).collab.mode is mode


@pytest.mark.parametrize("mode", FACTS)
def test_each_recorded_answer_is_played_once(mode, tmp_path, redis_url):
    write_agents_file(tmp_path / "agents.toml", RECORDED)
    installation = InlineInstallation(tmp_path, redis_url, (tmp_path / "agents.toml").read_text())
    (submission,) = demo_sessions(only=mode)
    job = installation_of(installation.client).sessions.submit(submission)
    installation.work()
    result, messages = result_of(job), list(job.messages())
    installation.close()
    reason, turns, last = FACTS[mode]
    assert (result.ok, result.reason, result.turns) == (True, reason, turns)
    assert messages[-1].content.startswith(last)
    recorded = [
        text.removeprefix("DONE: ") for it in submission.agents.values() for text in it.parameters["replies"]
    ]
    assert sorted(message.content for message in messages) == sorted(recorded)


@pytest.mark.parametrize(
    ("agents", "recorded"),
    [("local", {"orchestrated": ["lead"], "pair": ["ben"]}), ("openai:gpt-5", {})],
)
def test_a_model_answers_instead(agents, recorded):
    for session in demo_sessions(agents):
        played = [name for name, it in session.agents.items() if it.agent != "live"]
        assert played == recorded.get(session.collab.mode, [])
        assert all(it.instructions for it in session.agents.values())


@pytest.mark.parametrize(
    ("agents", "error"),
    [
        ("scripted", "'scripted' is not recorded, local or a PROVIDER:MODEL"),
        ("openai:", "'openai:' is not recorded, local or a PROVIDER:MODEL"),
        ("openai:gpt-5", "--agents: environment variable OPENAI_API_KEY is not set (got 'openai:gpt-5')"),
        ("nobody:gpt-5", "--agents: "),
    ],
)
def test_unusable_agents_are_refused_before_the_start(bare: Terminal, monkeypatch, agents, error):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = bare.call("demo", "--agents", agents)
    assert (said.code, said.out) == (2, "")
    assert error in said.err


@pytest.mark.long
def test_one_mode_is_shown_with_its_messages_and_end(bare: Terminal):
    said = bare.run("demo", "--mode", "pair")
    assert (said.code, said.err) == (0, "")
    for words in (
        "These are recorded answers: `--agents local` is for a small local model,",
        "   1 Ada    Each share is its part of the amount",
        "   4 Ben    APPROVED: the sum is exact",
        "✓ completed: approved (the sum is exact for each case that failed, and for refunds.) · 4 turns · ",
        "mode  ended                turns  tokens  seconds  turns/s",
    ):
        assert words in said.out
    nothing_is_left(bare)


@pytest.mark.long
def test_demo_of_all_modes_ends_as_expected(bare: Terminal):
    sessions = bare.run("demo", "--json").json()["sessions"]
    facts = {mode: fact[:2] for mode, fact in FACTS.items()}
    assert {it["collab"]["mode"]: (it["reason"], it["turns"]) for it in sessions} == facts
    nothing_is_left(bare)


@pytest.mark.long
def test_demo_ignores_user_settings(bare: Terminal):
    bare.settings |= {
        "redis_url": "redis://127.0.0.1:1/0",
        "broker_url": "amqp://127.0.0.1:1//",
        "agents_file": "no.toml",
    }
    assert bare.run("demo", "--mode", "swarm").code == 0


@pytest.mark.long
@pytest.mark.parametrize("moment", ["at once", "Started", "Patch before"])
def test_ctrl_c_leaves_no_process(bare: Terminal, moment):
    assert interrupted_at(moment, bare).code == 130
    nothing_is_left(bare)


def interrupted_at(moment: str, terminal: Terminal) -> Said:
    """Return the result of a demo interrupted by Ctrl-C at this point or later.

    From the first word to the last takes it 0.2 s: where it was quicker than we, there is another.
    """
    for _ in range(20):
        running = terminal.start("demo", as_installed=True)
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
    running = bare.start("demo").until("Started")
    running.process.kill()
    bare.wait_until_nothing_runs()


def test_missing_local_model_names_an_alternative(bare: Terminal, monkeypatch):
    monkeypatch.setattr("symposia.agents.local_model.server.find_spec", lambda _name: None)
    said = bare.call("demo", "--agents", "local")
    assert (said.code, said.out, said.err.count("\n")) == (4, "", 1)
    assert "install the local model with" in said.err
    assert "or run without it: symposia demo" in said.err


@pytest.mark.long
def test_demo_uses_the_local_model(bare: Terminal):
    try:
        find_weights()
        require_engine()
    except LocalModelError as error:
        pytest.skip(str(error))
    options = ("--agents", "local", "--mode", "broadcast", "--json")
    (session,) = bare.run("demo", *options, timeout_s=140).json()["sessions"]
    assert (session["reason"], session["turns"]) == ("max_rounds", 4)
    assert session["usage"]["output_tokens"] > 0
    nothing_is_left(bare)
