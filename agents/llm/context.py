"""A request to a model: what does not change comes first, and each message of the dialog is one block for ever. Pure.

The system prompt has the session and the participant. The first message of the user begins with the task. Then
follows the dialog: the participant's own messages are the assistant's, those of all others blocks of the user. The
request of this turn is the last block of the last message, and no later request repeats it. So between two cuts of the
dialog (`cuts`), each request begins like the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from ...models.prompts.layout import Prompt
from ...models.prompts.plain import plain_prompt
from ...models.protocol.dialog import Message, message_digest
from ...models.turns.turn import TurnContext
from .caching import CacheLife, mark_blocks
from .cuts import Block, DialogCut

#: Files of messages as parts of a request, by the digest of the message.
MessageFiles = Mapping[str, Sequence[UserContent]]


@dataclass(frozen=True, slots=True)
class ShownDialog:
    """The messages that a model is shown, and what is shown in place of the others."""

    cut: DialogCut
    blocks: Sequence[Block]
    #: Messages of the opening, which are part of the task.
    opening: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """The messages that are shown, with the opening."""
        return [*self.opening, *(block.message for block in self.blocks)]

    @property
    def left_out(self) -> int:
        """Number of messages that are left out."""
        return max(self.cut.covered - len(self.cut.pinned), 0)


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """Messages for a model besides its system prompt."""

    earlier: list[ModelMessage]
    #: The newest messages of the others, and the request of the turn.
    prompt: list[UserContent] = field(default_factory=list)


def system_text(prompt: Prompt) -> str:
    """Return the system prompt."""
    return "\n\n".join(part for part in (prompt.session, prompt.participant) if part)


def build_history(
    prompt: Prompt, dialog: ShownDialog, *, files: MessageFiles | None = None, life: CacheLife | None = None
) -> ModelHistory:
    """Return the messages of a request.

    User and assistant alternate strictly and the user begins: many chat templates refuse anything else.

    Args:
        prompt: The parts of the request besides the dialog.
        dialog: The messages to show.
        files: Files of messages.
        life: How long a provider keeps the request in its cache; None: no points are marked.
    """
    files = files or {}
    head: list[UserContent] = [prompt.task]
    for message in dialog.opening:
        head += files.get(message_digest(message), ())
    task_blocks = len(head)
    head += dialog.cut.lines([block.message for block in dialog.blocks])
    messages: list[_Message] = [_Said(head)]
    for block in dialog.blocks:
        if block.is_own:
            _add_own(messages, block)
        else:
            _blocks_of_others(messages).append(block.text)
        if parts := files.get(message_digest(block.message)):
            _blocks_of_others(messages).extend(parts)
    last = _blocks_of_others(messages)
    if life is not None:
        said = [message.blocks for message in messages if isinstance(message, _Said)]
        mark_blocks(said, task_blocks=task_blocks, life=life)
    return ModelHistory([_to_message(message) for message in messages[:-1]], [*last, prompt.turn])


def plain_history(
    turn: TurnContext, dialog: ShownDialog, *, files: MessageFiles | None = None
) -> ModelHistory:
    """Return the one message of a request to a small model; files follow."""
    messages = [block.shown for block in dialog.blocks]
    text = plain_prompt(turn, messages, before=dialog.cut.lines(messages, plain=True))
    return ModelHistory([], [text, *(part for parts in (files or {}).values() for part in parts)])


@dataclass(frozen=True, slots=True)
class _Said:
    """Blocks of the user, which become one message."""

    blocks: list[UserContent]


_Message = _Said | ModelRequest | ModelResponse


def _to_message(message: _Message) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(message.blocks)]) if isinstance(message, _Said) else message


def _blocks_of_others(messages: list[_Message]) -> list[UserContent]:
    """Return the blocks of the user's last message; a new one if the assistant was last."""
    last = messages[-1]
    if not isinstance(last, _Said):
        messages.append(last := _Said([]))
    return last.blocks


def _add_own(messages: list[_Message], block: Block) -> None:
    """Add an own message: its tool calls with their results, as they were requested, and its text."""
    for _, uses in groupby(block.tool_uses, key=lambda use: use.step):
        calls = list(uses)
        _add_parts(messages, [ToolCallPart(use.name, use.arguments, use.call_id) for use in calls])
        messages.append(ModelRequest([ToolReturnPart(use.name, use.result, use.call_id) for use in calls]))
    _add_parts(messages, [TextPart(block.text)])


def _add_parts(messages: list[_Message], parts: Sequence[ModelResponsePart]) -> None:
    """Add parts to the assistant's last message; to a new one if it was not last."""
    last = messages[-1]
    if isinstance(last, ModelResponse):
        messages[-1] = replace(last, parts=[*last.parts, *parts])
    else:
        messages.append(ModelResponse(parts=list(parts)))
