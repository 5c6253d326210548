"""What every kind of agent does alike, whoever makes it."""

from __future__ import annotations

import threading

import pytest

from model_stub import completion
from symposia.agents.registry import Registry
from symposia.models.collab import CollabMode
from symposia.models.errors import AgentError
from symposia.models.options import AgentBinding
from symposia.models.turn import Expects, TurnOutcome

FILE = """
[models.stub]
model = "stub"
base_url = "{url}"
structured = false

[agents.llm]
kind = "llm"
model = "stub"

[agents.python-sync]
kind = "python"
callable = "callable_agents:greet"

[agents.python-async]
kind = "python"
callable = "callable_agents:greet_later"

[agents.scripted]
kind = "scripted"
replies = ["{{me}} speaks"]

[agents.scripted-slowly]
kind = "scripted"
replies = [{{ say = "{{me}} speaks", delay_s = 0.001 }}]
"""
KINDS = ["llm", "python-sync", "python-async", "scripted", "scripted-slowly", "echo", "noop"]


@pytest.fixture(params=KINDS)
def agent(request, model, tmp_path):
    model.answers(completion("so I say"))
    path = tmp_path / "agents.toml"
    path.write_text(FILE.format(url=model.url))
    return Registry.load(path).seat(AgentBinding(agent=request.param))


@pytest.mark.parametrize("mode", CollabMode)
@pytest.mark.parametrize("expects", Expects)
def test_it_speaks_in_every_mode_whatever_is_expected(agent, runner, turn, message, mode, expects):
    context = turn(mode=mode, expects=expects, messages=[message("bob", "hello")], turn_number=2)
    outcome = runner.run(agent, context, timeout_s=20)
    assert isinstance(outcome, TurnOutcome)
    assert outcome.messages[0].content.strip()


def test_it_may_speak_when_nothing_has_been_said(agent, runner, turn):
    assert runner.run(agent, turn(), timeout_s=20).messages


def test_it_keeps_nothing_from_one_turn_to_the_next(agent, runner, turn):
    first = runner.run(agent, turn(), timeout_s=20)
    other = turn("bob", session_id="8a4d9a52-31ff-4c3b-a1f1-08c1c1b1b6c2", turn_number=9)
    assert runner.run(agent, other, timeout_s=20).messages
    assert runner.run(agent, turn(), timeout_s=20) == first


def test_it_speaks_for_many_sessions_at_once(agent, runner, turn):
    said = []

    def one(me):
        said.append(runner.run(agent, turn(me), timeout_s=20))

    threads = [threading.Thread(target=one, args=(me,)) for me in ("ann", "bob", "cleo") * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 15
    assert all(outcome.messages for outcome in said)


def test_it_leaves_the_turn_it_was_given_as_it_was(agent, runner, turn, message):
    context = turn(messages=[message("bob", "hello")])
    before = context.model_copy(deep=True)
    runner.run(agent, context, timeout_s=20)
    assert context == before


def test_when_it_cannot_speak_it_raises_an_agent_error_and_nothing_else(runner, turn, model, tmp_path):
    model.answers(completion(""))
    path = tmp_path / "agents.toml"
    path.write_text(
        FILE.format(url=model.url)
        + '[agents.bad-python]\nkind = "python"\ncallable = "callable_agents:wrong"\n'
        + '[agents.bad-script]\nkind = "scripted"\nreplies = [{ fail = "no" }]\n'
    )
    registry = Registry.load(path)
    for name in ("llm", "bad-python", "bad-script"):
        with pytest.raises(AgentError) as error:
            runner.run(registry.seat(AgentBinding(agent=name)), turn(), timeout_s=20)
        assert "\n" not in str(error.value)
