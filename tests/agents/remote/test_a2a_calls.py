"""Calls of an agent of another system by A2A: what it may answer, and what is stored."""

from __future__ import annotations

import asyncio
import gzip
import json
from ipaddress import ip_network

import pytest

from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.models.errors import AgentFailed
from symposia.models.turns.turn import GivenAnswer, Question

a2a_agent = pytest.importorskip("servers.tools.a2a_agent", reason="needs the extra a2a")
from symposia.agents.remote.a2a import A2AAgent, A2AOptions  # noqa: E402 - needs the extra

HOST = "127.0.0.1"


@pytest.fixture
def remote():
    remote = a2a_agent.RemoteAgent()
    yield remote
    remote.close()


@pytest.fixture
def journal():
    return InMemoryCallJournal()


@pytest.fixture
def speak(remote, journal):
    options = A2AOptions(
        url=remote.url,
        host=HOST,
        token_env=None,
        timeout_s=20,
        request_timeout_s=10,
        poll_s=0.1,
        ask=None,
        networks=[ip_network("127.0.0.0/8")],
    )
    agent = A2AAgent(options, lambda _: None)
    return lambda turn: asyncio.run(agent.speak_with_services(turn, TurnServices(journal)))


def test_compressed_answer_is_refused(remote, speak, turn):
    remote.body = gzip.compress(bytes(1_000_000)), {"content-encoding": "gzip"}
    with pytest.raises(AgentFailed, match=r"127\.0\.0\.1 answered with content encoding 'gzip'") as error:
        speak(turn())
    assert not error.value.retryable
    assert remote.encodings == {"identity"}


@pytest.mark.parametrize("streaming", [True, False])
def test_forgotten_task_is_sent_again(remote, journal, speak, turn, streaming):
    remote.card.capabilities.streaming = streaming
    journal.calls["a2a:0:0"] = "a-lost-task"
    with pytest.raises(AgentFailed, match="does not know the task any more") as error:
        speak(turn())
    assert error.value.retryable
    assert speak(turn()).messages[0].content == "got Find a name"


@pytest.mark.parametrize(
    ("ids", "message", "stored"),
    [
        (["one", "one", "two"], "sent an event of another task", {"a2a:0:0": "one"}),
        (["x" * 201], "must be at most 200 printable characters", {}),
        (["a\x00b"], "must be at most 200 printable characters", {}),
    ],
)
def test_only_one_valid_task_id_is_stored(remote, journal, speak, turn, ids, message, stored):
    tasks = [{"task": {"id": it, "status": {"state": "TASK_STATE_WORKING"}}} for it in ids]
    events = [f"data: {json.dumps({'jsonrpc': '2.0', 'id': '1', 'result': it})}\n\n" for it in tasks]
    remote.body = "".join(events).encode(), {"content-type": "text/event-stream"}
    with pytest.raises(AgentFailed, match=message) as error:
        speak(turn())
    assert not error.value.retryable
    assert journal.calls == stored


def test_answer_to_a_forgotten_task_goes_to_a_new_one(journal, speak, turn):
    journal.calls["a2a:0:0"] = "a-lost-task"
    answered = turn(answers=[GivenAnswer(question=Question(to="bob", text="which colour?"), text="green")])
    with pytest.raises(AgentFailed, match="does not know the task any more"):
        speak(answered)
    content = speak(answered).messages[0].content
    assert content == "got Find a name\n\nQuestion: which colour?\nAnswer: green"
