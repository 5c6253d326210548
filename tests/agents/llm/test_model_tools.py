"""What a model may call: registered functions and MCP servers, by name; each call done once in a turn."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from live import SUPPORT
from scaling import patient
from servers.model_stub import completion, refusal
from stub_agents import tools as model_tools
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.streaming import shorten_arguments

pytestmark = pytest.mark.real_models

FILE = """
[models.stub]
model = "stub"
base_url = "{url}"

[tools.add]
callable = "stub_agents.tools:add"

[tools.book]
callable = "stub_agents.tools:book"
description = "Books a meeting room."

[tools.picky]
callable = "stub_agents.tools:picky"

[tools.broken]
callable = "stub_agents.tools:broken"

[mcp.rooms]
command = ["{python}", "{server}"]
env = ["ROOMS_OWNER"]
tools = ["book"]

[agents.secretary]
kind = "llm"
model = "stub"
tools = ["add", "book", "picky", "broken"]
max_requests = 4
settings = {{ top_p = 0.5, openai_reasoning_effort = "low" }}

[agents.porter]
kind = "llm"
model = "stub"
tools = ["rooms"]

[mcp.guarded]
command = ["{python}", "{server}"]
approval = ["burn"]

[mcp.misspelt]
command = ["{python}", "{server}"]
approval = ["bun"]

[mcp.locked]
command = ["{python}", "{server}"]
approval = true

[agents.warden]
kind = "llm"
model = "stub"
tools = ["guarded"]

[agents.careless]
kind = "llm"
model = "stub"
tools = ["misspelt"]

[agents.turnkey]
kind = "llm"
model = "stub"
tools = ["locked"]

[agents.judge]
kind = "llm"
model = "stub"
output = "stub_agents.tools:Verdict"
"""


class Heard:
    """Listener of tool calls that keeps what it is told."""

    def __init__(self):
        self.events = []

    async def report_tool(self, call, tool, arguments, *, status, duration_ms=None):
        self.events.append((call, tool, arguments, status, duration_ms))

    def told(self):
        return [(tool, arguments, status.value) for _, tool, arguments, status, _ in self.events]


@pytest.fixture
def journal():
    return InMemoryCallJournal()


@pytest.fixture
def variables():
    return {"ROOMS_OWNER": "by the town"}


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def speak(runner, turn, model, tmp_path, journal, variables, heard):
    path = tmp_path / "agents.toml"
    path.write_text(
        FILE.format(
            url=model.url, python=sys.executable, server=SUPPORT / "servers" / "tools" / "mcp_server.py"
        )
    )
    registry = Registry.load(path, getenv=variables.get)

    def spoken(agent="secretary", **changes):
        context = turn(timeout_s=patient(30), **changes)
        seat = registry.get_agent(AgentBinding(agent=agent))
        services = TurnServices(journal, tool_listener=heard)
        return runner.start(seat, context, timeout_s=patient(30), turn_services=services).result()

    model_tools.calls.clear()
    return spoken


def results(asked):
    return [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]


def test_model_calls_a_function_and_uses_its_result(speak, model):
    model.answers(completion(tool=("add", {"a": 2, "b": 3})), completion("It is 5."))
    outcome = speak()
    assert (outcome.messages[0].content, outcome.usage.requests) == ("It is 5.", 2)
    assert results(model.asked[1]) == ["5"]


def test_model_receives_each_tool_description(speak, model):
    speak()
    told = {it["function"]["name"]: it["function"]["description"] for it in model.asked[0].body["tools"]}
    assert told == {
        "add": "Adds two numbers.",
        "book": "Books a meeting room.",
        "picky": "Books only rooms with short names.",
        "broken": "Always fails.",
    }


def test_extra_settings_reach_the_model(speak, model):
    speak()
    assert (model.asked[0].body["top_p"], model.asked[0].body["reasoning_effort"]) == (0.5, "low")


def test_tool_gets_the_turn_and_an_effect_id(speak, model):
    model.answers(completion(tool=("book", {"room": "blue"})), completion("done"))
    speak(turn_number=4)
    assert results(model.asked[1]) == ["blue is booked for ann"]
    [(room, effect_id)] = model_tools.calls
    assert room == "blue"
    assert effect_id.startswith("3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01:4:book:")


def test_finished_tool_call_is_not_repeated(speak, model):
    book = completion(tool=("book", {"room": "blue"}))
    model.answers(book, refusal(500, "broken"))
    with pytest.raises(AgentFailed):
        speak(instruction="x")
    model.answers(completion("all done"))
    assert speak(instruction="x").usage.requests == 2
    assert len(model_tools.calls) == 1


def test_tool_call_keeps_its_effect_id_on_a_retry(speak, model, journal):
    book = completion(tool=("book", {"room": "blue"}))
    for _ in range(2):
        model.answers(book, completion("done"))
        speak()
        journal.calls.clear()
    (_, first), (_, second) = model_tools.calls
    assert first == second


def test_the_same_call_twice_in_a_turn_is_two_effects(speak, model):
    book = {"room": "blue"}
    model.answers(
        completion(tool=("book", book)), completion(tool=("book", book), call="call-2"), completion("done")
    )
    speak()
    (_, first), (_, second) = model_tools.calls
    assert first != second


def test_tool_may_ask_for_a_retry(speak, model):
    model.answers(
        completion(tool=("picky", {"room": "drawing"})), completion(tool=("picky", {"room": "red"})), completion("ok")
    )  # fmt: skip
    speak()
    assert "rooms have short names" in results(model.asked[1])[0]
    assert results(model.asked[2])[1] == "red it is"


def test_endless_tool_calls_are_stopped(speak, model):
    model.answers(completion(tool=("add", {"a": 1, "b": 1})))
    with pytest.raises(AgentFailed, match="UsageLimitExceeded") as error:
        speak()
    assert (len(model.asked), error.value.retryable) == (4, False)


@pytest.mark.long
def test_server_tools_have_the_server_name_as_a_prefix(speak, model):
    model.answers(completion(tool=("rooms_book", {"room": "blue"})), completion("done"))
    speak("porter", turn_number=4)
    assert [it["function"]["name"] for it in model.asked[0].body["tools"]] == ["rooms_book"]
    [said] = results(model.asked[1])
    assert said.startswith("blue is booked, by the town, effect 3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01:4:")


LOADS = """
import sys
from pathlib import Path
from symposia.agents.registry.registry import Registry
from symposia.models.sessions.options import AgentBinding

registry = Registry.load(Path(sys.argv[1]), getenv={}.get)
for agent in ("secretary", "porter"):
    registry.get_agent(AgentBinding(agent=agent))
    print("pydantic_ai.mcp" in sys.modules, "fastmcp.client.transports" in sys.modules)
"""


@pytest.mark.long
def test_server_tools_are_imported_outside_the_event_loop(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text(FILE.format(url="http://127.0.0.1:9/v1", python="python", server="server.py"))
    done = subprocess.run(
        [sys.executable, "-c", LOADS, path],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        capture_output=True,
        text=True,
        timeout=patient(50),
        check=False,
    )
    assert done.stdout.splitlines() == ["False False", "True True"], done.stderr


@pytest.mark.long
def test_unusable_tool_server_fails_without_secrets(speak, variables):
    variables["ROOMS_OWNER"] = ""
    with pytest.raises(AgentFailed, match="environment variable ROOMS_OWNER is not set") as error:
        speak("porter")
    assert not error.value.retryable


def test_messages_may_be_structured(speak, model):
    model.answers(completion(tool=("result", {"grade": 2, "why": "short"})))
    assert speak("judge").messages[0].content == '{"grade":2,"why":"short"}'


@pytest.mark.parametrize(
    ("agent", "tool", "is_asked"),
    [
        ("warden", "guarded_burn", True),
        pytest.param("warden", "guarded_book", False, marks=pytest.mark.long),
        pytest.param("turnkey", "locked_book", True, marks=pytest.mark.long),
    ],
)
def test_tools_of_a_server_need_an_approval(speak, model, agent, tool, is_asked):
    model.answers(completion(tool=(tool, {"room": "blue"})), completion("Done."))
    outcome = speak(agent, approvers=("ann",))
    asked = None if outcome.question is None else (outcome.question.to, outcome.question.tool)
    assert asked == (("ann", tool) if is_asked else None)


@pytest.mark.long
def test_approved_tool_of_a_server_is_called(speak, model):
    model.answers(completion(tool=("guarded_burn", {"room": "blue"})), completion("Done."))
    question = speak("warden", approvers=("ann",)).question
    given = {"question": question, "text": "approve", "by": "ann"}
    assert speak("warden", approvers=("ann",), answers=[given]).messages[0].content == "Done."
    assert results(model.asked[-1]) == ["blue is gone"]


@pytest.mark.long
def test_approval_of_an_unknown_tool_fails_the_turn(speak):
    with pytest.raises(AgentFailed, match=r"mcp.misspelt.approval: the server has no tool 'bun'") as failed:
        speak("careless", approvers=("ann",))
    assert not failed.value.retryable


def test_each_call_is_reported_at_its_begin_and_end(speak, model, heard):
    model.answers(
        completion(tool=("add", {"a": 2, "b": 3})),
        completion(tool=("picky", {"room": "drawing"})),
        completion(tool=("broken", {})),
        completion("done"),
    )
    speak()
    assert heard.told() == [
        ("add", '{"a":2,"b":3}', "running"),
        ("add", '{"a":2,"b":3}', "ok"),
        ("picky", '{"room":"drawing"}', "running"),
        ("picky", '{"room":"drawing"}', "retry"),
        ("broken", "{}", "running"),
        ("broken", "{}", "error"),
    ]
    calls, took = [it[0] for it in heard.events], [it[4] for it in heard.events]
    assert calls[::2] == calls[1::2]
    assert took[::2] == [None] * 3
    assert all(ms >= 0 for ms in took[1::2])


def test_call_that_waits_for_a_person_is_reported(speak, model, heard):
    model.answers(completion(tool=("guarded_burn", {"room": "blue"})))
    speak("warden", approvers=("cyd",))
    assert [status for _, _, status in heard.told()] == ["running", "waiting"]


def test_arguments_are_short_and_without_secrets():
    given = {"q": "key sk-house-1", "api_key": "x", "more": [{"password": "y"}], "text": "z" * 1_000}
    shown = shorten_arguments(given, ["sk-house-1"])
    assert len(shown) <= 300
    assert shown.startswith('{"q":"key ***","api_key":"***","more":[{"password":"***"}],"text":"zzz')
