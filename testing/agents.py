"""Scripted model that records its requests, turns for tests of agents, and a function that runs a turn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from ..agents.agent import AnyAgent, TurnServices
from ..agents.execution.runner import AgentRunner
from ..agents.llm.agent import LLMAgent
from ..agents.llm.settings import LLMSettings, ModelSource
from ..agents.llm.string_content import join_texts
from ..models.modes import mode_of, with_position
from ..models.protocol.collab import CollabMode, Participant
from ..models.protocol.dialog import Message, Role, build_turn_message
from ..models.turns.turn import TurnContext, TurnOutcome


@dataclass(frozen=True, slots=True)
class Call:
    """A reply that calls a tool."""

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)


#: Reply of a scripted model: text, structured output, a tool call, or an error to raise.
ModelReply = str | BaseModel | Mapping[str, object] | Call | Exception


@dataclass(frozen=True, slots=True)
class Asked:
    """One recorded request to the model."""

    #: The system prompt.
    system: str
    messages: tuple[ModelMessage, ...]
    #: Names of the available tools.
    tools: tuple[str, ...]

    @property
    def prompt(self) -> str:
        """The newest text of the user, or the newest tool results."""
        newest = self.messages[-1]
        parts = newest.parts if isinstance(newest, ModelRequest) else ()
        contents = [part.content for part in parts if isinstance(part, UserPromptPart | ToolReturnPart)]
        return "\n".join(map(_text, contents))


def _text(content: object) -> str:
    """Return the content of a part of a request as text: blocks joined by a blank line."""
    joined = join_texts(content) if isinstance(content, list | tuple) else content
    return joined if isinstance(joined, str) else str(joined)


class ScriptedModel(FunctionModel):
    """A model that gives its replies in order, and then repeats the last one.

    Text is streamed word by word if the agent requests a stream. A mapping or a pydantic model is structured
    output in the form that the turn expects, such as `{"satisfied": True, "reason": "done"}`.

    Raises:
        TypeError: Structured output in a turn that expects text.
    """

    def __init__(self, *replies: ModelReply, name: str = "scripted") -> None:
        self.asked: list[Asked] = []
        self._replies = replies or ("Well said.",)
        super().__init__(self._answer, stream_function=self._streamed, model_name=name)

    def _next(self, messages: Sequence[ModelMessage], info: AgentInfo) -> ModelResponsePart:
        reply = self._replies[min(len(self.asked), len(self._replies) - 1)]
        tools = tuple(tool.name for tool in info.function_tools)
        self.asked.append(Asked(info.instructions or "", tuple(messages), tools))
        match reply:
            case Exception():
                raise reply
            case str():
                return TextPart(reply)
            case Call():
                return ToolCallPart(reply.tool, dict(reply.arguments), f"call-{len(self.asked)}")
            case _:
                form = reply.model_dump(mode="json") if isinstance(reply, BaseModel) else dict(reply)
                return ToolCallPart(_form(info), form, f"call-{len(self.asked)}")

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[self._next(messages, info)])

    async def _streamed(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        part = self._next(messages, info)
        if isinstance(part, ToolCallPart):
            call = DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id=part.tool_call_id)
            yield {0: call}
        elif isinstance(part, TextPart):
            for at, word in enumerate(part.content.split(" ")):
                yield word if at == 0 else f" {word}"


def _form(info: AgentInfo) -> str:
    if not info.output_tools:
        raise TypeError("this turn expects text, not structured output")
    return info.output_tools[0].name


#: Time of the first message; each further one is a second later, so that equal turns have equal times.
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
#: Participants of test turns; Ann is the default speaker.
ROSTER = (
    Participant(participant_id="ann", display_name="Ann", role_id="coder"),
    Participant(participant_id="bob", display_name="Bob"),
    Participant(participant_id="cleo"),
)


def turn(me: str = "ann", *, heard: Sequence[tuple[str, str]] = (), **changes: Any) -> TurnContext:
    """Return a turn in a round robin of Ann, Bob and Cleo.

    Args:
        me: Participant whose turn it is.
        heard: Earlier messages, as pairs of participant and text.
        changes: Other fields of `TurnContext`.
    """
    fields: dict[str, Any] = {
        "session_id": "3f0c8f55-6f0c-4a58-9c2f-0a4d8b0f6a01",
        "mode": CollabMode.ROUND_ROBIN,
        "title": "A title",
        "purpose": "Find a name",
        "me": next(p for p in ROSTER if p.participant_id == me),
        "roster": ROSTER,
        "messages": tuple(_message(number, *entry) for number, entry in enumerate(heard, 1)),
        "turn_number": len(heard) + 1,
        "timeout_s": 30.0,
    }
    mode = mode_of((fields | changes)["mode"])
    of_mode = {"one_turn_each": mode.one_turn_each}
    return with_position(TurnContext.model_validate(of_mode | fields | changes))


def _message(number: int, speaker: str, content: str) -> Message:
    return build_turn_message(
        Role.AGENT,
        content,
        timestamp=BEGIN + timedelta(seconds=number),
        participant_id=speaker,
        turn_number=number,
        token_id="token",  # noqa: S106 - not a secret, the id of a grant
        fence=number,
    )


def model_agent(model: Model, **llm_settings: Any) -> LLMAgent:
    """Return an agent that uses `model`.

    Args:
        model: The model.
        llm_settings: Fields of `symposia.agents.llm.settings.LLMSettings`.
    """
    return LLMAgent(lambda: [ModelSource(model)], LLMSettings(**llm_settings))


def speak(agent: AnyAgent, context: TurnContext, *, turn_services: TurnServices | None = None) -> TurnOutcome:
    """Run a turn as a worker does, and return its outcome.

    Args:
        agent: The agent under test.
        context: The turn.
        turn_services: Services of the turn; None: services in memory.

    Raises:
        AgentError: The turn failed.
    """
    runner = AgentRunner()
    try:
        return runner.start(agent, context, timeout_s=context.timeout_s, turn_services=turn_services).result()
    finally:
        runner.close()
