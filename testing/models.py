"""Scripted model for tests, which records its requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

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
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel


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
        said = [part.content for part in parts if isinstance(part, UserPromptPart | ToolReturnPart)]
        return "\n".join(text if isinstance(text, str) else str(text) for text in said)


class ScriptedModel(FunctionModel):
    """A model that gives its replies in order, and then repeats the last one.

    Text is streamed word by word if the agent requests a stream. A mapping or a pydantic model is structured
    output in the form that the turn expects, such as `{"satisfied": True, "reason": "done"}`.

    Raises:
        TypeError: structured output in a turn that expects text.
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
