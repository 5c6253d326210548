"""Tools that fail, servers that are unreachable, and models that repeat a call."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from live import SUPPORT, until
from scaling import patient
from servers.model_stub import completion
from servers.ports import own_port
from stub_agents import tools as model_tools
from symposia.agents.agent import InMemoryCallJournal, TurnServices
from symposia.agents.llm.tool_calls import REPEATED, TOOLS_OFF
from symposia.agents.registry.registry import Registry
from symposia.agents.tables import McpEntry
from symposia.models.errors import AgentFailed
from symposia.models.sessions.options import AgentBinding

pytestmark = pytest.mark.real_models

FILE = """
[models.stub]
model = "stub"
base_url = "{url}"
api_key_env = "KEY"

[agents.clerk]
kind = "llm"
model = "stub"
tools = ["broken", "leaky", "refusing", "picky", "add", "flaky"]

[agents.strict]
kind = "llm"
model = "stub"
tools = ["fragile"]

[agents.porter]
kind = "llm"
model = "stub"
tools = ["rooms"]

[agents.guard]
kind = "llm"
model = "stub"
tools = ["vault"]

[agents.lost]
kind = "llm"
model = "stub"
tools = ["away"]

[tools]
broken = {{callable = "stub_agents.tools:broken"}}
leaky = {{callable = "stub_agents.tools:leaky"}}
refusing = {{callable = "stub_agents.tools:refusing"}}
picky = {{callable = "stub_agents.tools:picky"}}
add = {{callable = "stub_agents.tools:add"}}
flaky = {{callable = "stub_agents.tools:flaky"}}
fragile = {{callable = "stub_agents.tools:broken", on_error = "fail"}}

[mcp.rooms]
command = ["{python}", "{server}"]

[mcp.vault]
command = ["{python}", "{server}"]
on_error = "fail"

[mcp.away]
url = "http://127.0.0.1:{away}/mcp"
"""


class Statuses:
    """Listener of tool calls that keeps their last status."""

    def __init__(self):
        self.last = []

    async def report_tool(self, *_, status, duration_ms=None):
        if duration_ms is not None:
            self.last.append(status.value)


@pytest.fixture
def statuses():
    return Statuses()


@pytest.fixture
def speak(runner, turn, model, tmp_path, statuses):
    path, journal = tmp_path / "agents.toml", InMemoryCallJournal()
    server = SUPPORT / "servers" / "tools" / "mcp_server.py"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        path.write_text(
            FILE.format(url=model.url, python=sys.executable, server=server, away=unused.getsockname()[1])
        )
        registry = Registry.load(path, getenv={"KEY": "sk-house-1"}.get)

        def spoken(agent):
            created = registry.get_agent(AgentBinding(agent=agent))
            services = TurnServices(journal, tool_listener=statuses)
            context = turn(timeout_s=patient(30))
            return runner.start(created, context, timeout_s=patient(30), turn_services=services).result()

        yield spoken


def results(asked):
    return [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize(
    ("agent", "tool", "arguments", "told"),
    [
        ("clerk", "broken", {}, "The tool failed: LookupError: no such thing"),
        ("clerk", "leaky", {}, "The tool failed: ValueError: sent key *** to the house"),
        pytest.param(
            "porter",
            "rooms_find",
            {"room": "red"},
            "there is no room red, token ***",
            marks=pytest.mark.long,
        ),
    ],
)
def test_model_gets_the_exception_of_a_tool(speak, model, statuses, agent, tool, arguments, told):
    model.answers(completion(tool=(tool, arguments)), completion("I go on."))
    assert speak(agent).messages[0].content == "I go on."
    [result] = results(model.asked[1])
    assert (told in result, "\n" in result, statuses.last) == (True, False, ["error"])


@pytest.mark.parametrize(
    ("agent", "tool", "arguments", "message", "is_retryable"),
    [
        ("strict", "fragile", {}, "LookupError: no such thing", True),
        ("clerk", "refusing", {}, "the house is closed", False),
        pytest.param(
            "guard", "vault_find", {"room": "red"}, "there is no room red", True, marks=pytest.mark.long
        ),
        pytest.param("guard", "vault_leave", {}, "MCP server 'vault' failed: ", True, marks=pytest.mark.long),
        pytest.param("lost", "away_x", {}, "MCP server 'away' failed: ", True, marks=pytest.mark.long),
    ],
)
def test_failure_fails_the_turn(speak, model, agent, tool, arguments, message, is_retryable):
    model.answers(completion(tool=(tool, arguments)))
    with pytest.raises(AgentFailed) as failed:
        speak(agent)
    assert message in str(failed.value)
    assert (failed.value.retryable, "sk-house" in str(failed.value)) == (is_retryable, False)


@pytest.mark.long
def test_model_learns_which_server_is_dead(speak, model):
    model.answers(completion(tool=("rooms_leave", {})), completion("I go on."))
    assert speak("porter").messages[0].content == "I go on."
    assert results(model.asked[1])[0].startswith("The tool failed: MCP server 'rooms' failed: ")


def test_failed_call_is_not_repeated_by_the_next_attempt(speak, model, statuses):
    model.answers(completion(tool=("broken", {})), completion(""))
    with pytest.raises(AgentFailed):
        speak("clerk")
    model.answers(completion("done"))
    speak("clerk")
    assert statuses.last == ["error"]


def test_failed_call_and_its_repetition_have_the_same_effect_id(speak, model):
    model_tools.calls.clear()
    model.answers(
        *[completion(tool=("flaky", {}), call=f"c{number}") for number in range(3)], completion("ok")
    )
    speak("clerk")
    assert results(model.asked[3]) == ["The tool failed: TimeoutError", "done", REPEATED]
    (_, first), (_, second) = model_tools.calls
    assert first == second


def test_tool_that_always_asks_for_a_correction_does_not_fail_the_turn(speak, model):
    calls = [
        completion(tool=("picky", {"room": f"room {number}"}), call=f"call-{number}") for number in range(6)
    ]
    model.answers(*calls, completion("None fits."))
    assert speak("clerk").messages[0].content == "None fits."
    assert results(model.asked[-1])[3] == "The tool failed: rooms have short names"


def add(a):
    return completion(tool=("add", {"a": a, "b": 1}))


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([1, 1, 1], ["2", "2", REPEATED]),
        ([1, 1, 1, 1, 1], ["2", "2", REPEATED, TOOLS_OFF, TOOLS_OFF]),
        ([1, 2, 1, 2, 1, 2], ["2", "3", "2", "3", "2", REPEATED]),
        ([1, 2, 1, 3, 1, 4, 1], ["2", "3", "2", "4", "2", "5", "2"]),
    ],
    ids=["thrice", "five-times", "in-turn", "with-new-calls-between"],
)
def test_repeated_call_is_stopped(speak, model, calls, told):
    model.answers(*map(add, calls), completion("done"))
    assert speak("clerk").messages[0].content == "done"
    assert results(model.asked[-1]) == told
    choices = [asked.body.get("tool_choice", "auto") for asked in model.asked]
    assert choices == ["none" if at > 3 and TOOLS_OFF in told else "auto" for at in range(len(choices))]
    assert all(asked.body["tools"] for asked in model.asked)


def test_outcome_has_the_tool_uses(speak, model):
    model.answers(
        completion(tool=("add", {"a": 1, "b": 1}), call="c1"),
        completion(tool=("leaky", {}), call="c2"),
        completion(tool=("picky", {"room": "drawing"}), call="c3"),
        completion("done"),
    )
    uses = [(use.step, use.call_id, use.name, use.arguments, use.result) for use in speak("clerk").tool_uses]
    assert uses == [
        (1, "c1", "add", {"a": 1, "b": 1}, "2"),
        (2, "c2", "leaky", {}, "The tool failed: ValueError: sent key *** to the house"),
        (3, "c3", "picky", {"room": "drawing"}, "rooms have short names"),
    ]


def test_endless_repetition_ends_the_turn(speak, model):
    model.answers(add(1))
    with pytest.raises(AgentFailed, match="repeats its tool calls") as failed:
        speak("clerk")
    assert (failed.value.retryable, len(model.asked)) == (False, 7)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"url": "http://x/mcp", "command": ["x"]}, "exactly one of"),
        ({}, "exactly one of"),
        ({"command": ["x"], "transport": "sse"}, "transport: needs `url`"),
        ({"command": ["x"], "token_env": "TOKEN"}, "token_env: needs `url`"),
        ({"command": ["x"], "headers_env": {"X-Key": "KEY"}}, "headers_env: needs `url`"),
        ({"url": "http://x/mcp", "env": ["KEY"]}, "env: needs `command`"),
        ({"url": "http://x/mcp", "headers_env": {"X Key": "KEY"}}, "must be the name of an HTTP header"),
        ({"url": "http://x/mcp", "headers_env": {"X-Key": "Bearer abc"}}, "not the key itself"),
        (
            {"url": "http://x/mcp", "token_env": "T", "headers_env": {"authorization": "A"}},
            "must not have Authorization",
        ),
    ],
)
def test_combinations_of_a_server_entry_are_refused(entry, problem):
    with pytest.raises(ValueError, match=problem):
        McpEntry.model_validate(entry)


@pytest.mark.long
@pytest.mark.parametrize(
    ("transport", "path", "is_named"),
    [("streamable-http", "mcp", False), ("sse", "sse", False), ("sse", "sse", True)],
)
def test_running_server_gets_the_headers(runner, turn, model, tmp_path, transport, path, is_named):
    port = own_port()
    server = subprocess.Popen(
        [sys.executable, SUPPORT / "servers" / "tools" / "mcp_server.py", transport, str(port)],
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: _is_open(port), what="the server listens")
        file = tmp_path / "agents.toml"
        named = f'transport = "{transport}"' if is_named else ""
        file.write_text(
            f'[models.stub]\nmodel = "stub"\nbase_url = "{model.url}"\n'
            f'[mcp.rooms]\nurl = "http://127.0.0.1:{port}/{path}"\n{named}\n'
            'headers_env = {X-House = "HOUSE"}\ntools = ["header"]\n'
            '[agents.porter]\nkind = "llm"\nmodel = "stub"\ntools = ["rooms"]\n'
        )
        registry = Registry.load(file, getenv={"HOUSE": "red"}.get)
        model.answers(completion(tool=("rooms_header", {"name": "x-house"})), completion("done"))
        porter = registry.get_agent(AgentBinding(agent="porter"))
        runner.start(porter, turn(timeout_s=patient(30)), timeout_s=patient(30)).result()
        assert results(model.asked[1]) == ["red"]
    finally:
        server.kill()
        server.wait()


def _is_open(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
