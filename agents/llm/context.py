"""A request to a model: what does not change comes first, and each message of the dialog is one block for ever. Pure.

The system prompt has the session and the participant. The first message of the user begins with the task. Then
follows the dialog: the participant's own messages are the assistant's, those of all others blocks of the user. The
request of this turn is the last block of the last message, and no later request repeats it. So between two cuts of the
dialog (`cuts`), each request begins like the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
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
    groups: list[tuple[bool, list[UserContent]]] = [(False, head)]
    for own, blocks in groupby(dialog.blocks, key=lambda block: block.is_own):
        for block in blocks:
            _append(groups, own, block.text)
            for part in files.get(message_digest(block.message), ()):
                _append(groups, False, part)
    if groups[-1][0]:
        groups.append((False, []))
    if life is not None:
        mark_blocks([group for own, group in groups if not own], task_blocks=task_blocks, life=life)
    *earlier, (_, last) = groups
    return ModelHistory([_message(own, group) for own, group in earlier], [*last, prompt.turn])


def plain_history(
    turn: TurnContext, dialog: ShownDialog, *, files: MessageFiles | None = None
) -> ModelHistory:
    """Return the one message of a request to a small model; files follow."""
    messages = [block.shown for block in dialog.blocks]
    text = plain_prompt(turn, messages, before=dialog.cut.lines(messages, plain=True))
    return ModelHistory([], [text, *(part for parts in (files or {}).values() for part in parts)])


def _append(groups: list[tuple[bool, list[UserContent]]], own: bool, part: UserContent) -> None:
    if groups[-1][0] == own:
        groups[-1][1].append(part)
    else:
        groups.append((own, [part]))


def _message(own: bool, group: Sequence[UserContent]) -> ModelMessage:
    if own:
        return ModelResponse(parts=[TextPart(str(text)) for text in group])
    return ModelRequest(parts=[UserPromptPart(group)])
