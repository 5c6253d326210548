"""Long sessions in the form of each provider's API, against servers that refuse what the provider would refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from scaling import patient
from servers.strict_apis import StrictApis
from symposia.agents.agent import InMemoryCallJournal, InMemoryNotes, TurnServices
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.caching import cache_life
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.agents.llm.tools import Toolbox
from symposia.agents.tables import ToolEntry
from symposia.models.protocol.collab import Participant, ParticipantKind
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.testing import turn
from symposia.testing.agents import BEGIN, ROSTER

pytestmark = [pytest.mark.real_models, pytest.mark.timeout(600)]

PURPOSE = "Design a lamp that needs no cable"
WORD = "lumen "


def _openai(url: str) -> OpenAIProvider:
    return OpenAIProvider(base_url=f"{url}/v1", api_key="k")


#: By API: a client of the server.
MODELS: dict[str, Callable[[str], Model | Endpoint]] = {
    "string content": lambda url: Endpoint("stub", f"{url}/v1"),
    "chat": lambda url: OpenAIChatModel("gpt-5.6", provider=_openai(url)),
    "responses": lambda url: OpenAIResponsesModel("gpt-5.6", provider=_openai(url)),
    "anthropic": lambda url: AnthropicModel(
        "claude-sonnet-5-5", provider=AnthropicProvider(api_key="k", base_url=url)
    ),
    "gemini": lambda url: GoogleModel("gemini-2.5-pro", provider=GoogleProvider(api_key="k", base_url=url)),
}


def has_tool_result(body: dict[str, Any]) -> bool:
    """Return whether a request ends with the result of a tool."""
    last = (body.get("messages") or body.get("input") or body.get("contents"))[-1]
    return any(
        word in str(last)
        for word in ("tool_call_id", "function_call_output", "tool_result", "functionResponse")
    )


def reply(number: int, body: dict[str, Any]) -> str | tuple[str, dict[str, Any]]:
    """Call a tool in each sixth request, then speak."""
    if number % 6 == 0 and not has_tool_result(body):
        return "add", {"a": number, "b": 1}
    return f"Answer {number}. {WORD * 40}"


def blocks(body: Any) -> list[str]:
    """Return the texts of a request in the order of the APIs: system prompt, messages."""
    system = body.get("system") or body.get("instructions") or body.get("systemInstruction") or ()
    return list(_strings(system)) + list(
        _strings(body.get("messages") or body.get("input") or body["contents"])
    )


def _strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for name in (
            "content",
            "parts",
            "text",
            "arguments",
            "input",
            "output",
            "functionCall",
            "functionResponse",
        ):
            yield from _strings(value.get(name))


def shared(before: list[str], now: list[str]) -> int:
    """Return the characters of the blocks with which both requests begin."""
    size = 0
    for one, two in zip(before, now, strict=False):
        if one != two:
            # String content: the beginning of the last message is equal.
            return size + next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), 0)
        size += len(one)
    return size


def hold_session(
    runner, server: StrictApis, source: Model | Endpoint, turns: int, **options: Any
) -> list[Any]:
    """Ann speaks in each third turn; return the first request of each of her turns."""
    notes, toolbox = (
        InMemoryNotes(),
        Toolbox({"add": ToolEntry(callable="stub_agents.tools:add")}, {}, lambda _: None),
    )
    settings = LLMSettings(context_tokens=3_000, max_tokens=400, retries=0, summary=True, **options)
    agent = LLMAgent(lambda: [ModelSource(source)], settings, toolbox=toolbox)
    opening = (Message(role=Role.USER, content="It must be cheap.", timestamp=BEGIN),)
    messages: list[Message] = list(opening)
    requests = []
    for number in range(1, turns + 1):
        who, text = ("ann", "bob", "cleo")[(number - 1) % 3], f"Point {number}. {WORD * 40}"
        if who == "ann":
            requests.append(len(server.bodies))
            context = turn(
                messages=messages, opening=opening, purpose=PURPOSE, turn_number=number, timeout_s=patient(20)
            )
            services = TurnServices(InMemoryCallJournal(), notes=notes)
            running = runner.start(agent, context, timeout_s=patient(20), turn_services=services)
            text = running.result().messages[0].content
        said = {"participant_id": who, "turn_number": number, "token_id": "t", "fence": number}
        messages.append(
            build_turn_message(Role.AGENT, text, timestamp=BEGIN + timedelta(seconds=number), **said)
        )
    return [server.bodies[at] for at in requests]


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("turns", [18, pytest.param(300, marks=pytest.mark.long)])
def test_api_refuses_no_request_of_a_long_session(runner, api, turns):
    with StrictApis(reply) as server:
        requests = hold_session(runner, server, MODELS[api](server.url), turns)
    assert server.problems == []
    assert all(PURPOSE in str(body) and "It must be cheap." in str(body) for body in server.bodies)
    assert ("left out" in str(requests[-1])) == (turns > 18)
    texts = [blocks(body) for body in requests]
    sizes = sum(sum(map(len, now)) for now in texts[1:])
    share = sum(shared(before, now) for before, now in pairwise(texts)) / sizes
    assert share >= (0.75 if turns > 18 else 0.5)


def marked(body: dict[str, Any]) -> list[bool]:
    """Return whether each block of a request to Anthropic is marked."""
    messages = [block for message in body["messages"] for block in message["content"]]
    return ["cache_control" in block for block in [*body["system"], *messages]]


def test_points_are_before_the_turn_and_after_tool_results(runner):
    with StrictApis(reply) as server:
        requests = hold_session(runner, server, MODELS["anthropic"](server.url), 18)
    first, last = marked(requests[0]), marked(requests[-1])
    assert first == [True, True, False]
    assert (last[:2], last[-2:], sum(last)) == ([True, True], [True, False], 4)
    assert all(marked(body)[-1] for body in server.bodies if has_tool_result(body))


@pytest.mark.parametrize("options", [{"cache": False}, {"settings": {"anthropic_cache_instructions": False}}])
def test_points_can_be_switched_off(runner, options):
    with StrictApis(reply) as server:
        requests = hold_session(runner, server, MODELS["anthropic"](server.url), 4, **options)
    assert "cache_control" not in str(requests)


def test_entries_live_an_hour_beside_people():
    person = Participant(participant_id="pat", kind=ParticipantKind.HUMAN)
    assert cache_life(turn()) == "5m"
    assert cache_life(turn(roster=[*ROSTER, person])) == "1h"
