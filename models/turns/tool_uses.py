"""Tool uses of a turn: calls and results that its agent sees again in its later turns.

They are stored in the event of the turn's last message, shortened when they are written and never later, so that the
same turn always reads the same. Other agents do not get them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from ..protocol.dialog import TOOL_USES, Message
from ..text.json_text import dump_json
from .frozen import Frozen
from .message_lists import estimate_tokens

#: Maximum tokens of one result; a longer one keeps its head and tail.
MAX_RESULT_TOKENS = 2_000
#: Maximum tokens of all results of a turn; the older ones are shortened further.
MAX_TURN_TOKENS = 8_000
#: Tokens that a result keeps when those of the turn are too long.
_SHORT_TOKENS = 100
#: Maximum uses of a turn; the newest are kept.
MAX_USES = 50
#: Maximum characters of a text in the arguments, and of all arguments.
_MAX_ARGUMENT, _MAX_ARGUMENTS = 1_000, 8_000
_CHARACTERS_PER_TOKEN = 4


class ToolUse(Frozen):
    """A call of a tool, and its result."""

    #: Id of the call, as it was sent to the model.
    call_id: str
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    result: str = ""
    #: Number of the request that was answered with this call, from 1: calls of one answer belong together.
    step: int = 1


_USES: TypeAdapter[tuple[ToolUse, ...]] = TypeAdapter(tuple[ToolUse, ...])


def tool_uses_of(message: Message) -> tuple[ToolUse, ...]:
    """Return the tool uses of the turn that ended with a message, oldest first; empty if there are none."""
    data = message.tool_uses_data
    if data is None:
        return ()
    try:
        return _USES.validate_python(data)
    except ValidationError:  # of a later release
        return ()


def with_tool_uses(message: Message, uses: Sequence[ToolUse]) -> Message:
    """Return the message of a turn with its tool uses."""
    return message.with_tool_uses_data([use.model_dump(mode="json", exclude_defaults=True) for use in uses])


def own_tool_uses(messages: Sequence[Message], participant_id: str) -> tuple[Message, ...]:
    """Return messages with the tool uses of one participant only."""
    return tuple(
        message.without_tool_uses_data()
        if message.event is not None  # before its properties: most messages of a window have no tool uses
        and TOOL_USES in (message.event.data or ())
        and message.turn_data.get("participant_id") != participant_id
        else message
        for message in messages
    )


def bounded_uses(uses: Sequence[ToolUse]) -> tuple[ToolUse, ...]:
    """Return tool uses of a bounded size: long texts are shortened, the oldest first."""
    return tuple(reversed(list(_bounded(uses[-MAX_USES:]))))


def _bounded(uses: Sequence[ToolUse]) -> Iterator[ToolUse]:
    left = MAX_TURN_TOKENS
    for use in reversed(uses):
        result = shorten_result(use.result, MAX_RESULT_TOKENS)
        if estimate_tokens(result) > left:
            result = shorten_result(use.result, _SHORT_TOKENS)
        left -= estimate_tokens(result)
        yield use.model_copy(update={"result": result, "arguments": _short_arguments(use.arguments)})


def shorten_result(text: str, max_tokens: int) -> str:
    """Return the head and the tail of a text with more tokens, and between them how many are left out."""
    tokens = estimate_tokens(text)
    if tokens <= max_tokens:
        return text
    # Characters of other scripts have several bytes.
    half = max(1, len(text) * max_tokens // tokens // 2)
    return f"{text[:half]}\n[{tokens - max_tokens:,} tokens left out]\n{text[-half:]}"


def _short_arguments(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    short = _short(arguments)
    text = dump_json(short)
    return short if len(text) <= _MAX_ARGUMENTS else {"left_out": f"{len(text):,} characters"}


def _short(value: Any) -> Any:
    match value:
        case str() if len(value) > _MAX_ARGUMENT:
            return shorten_result(value, _MAX_ARGUMENT // _CHARACTERS_PER_TOKEN)
        case dict():
            return {name: _short(item) for name, item in value.items()}
        case list() | tuple():
            return [_short(item) for item in value]
        case _:
            return value
