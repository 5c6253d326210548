"""The dialog as a model's own history, as much of it as fits. Pure.

The system prompt, which holds the purpose, and what the turn asks for always go along; of the
dialog the newest messages do, within the budget of the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from ...models.protocol.dialog import Message
from ...models.turns.message_lists import recent_messages
from ...models.turns.turn import TurnContext
from .prompts import attribute_message, opening_prompt, plain_prompt, turn_prompt


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """What a model is shown besides its system prompt."""

    earlier: list[ModelMessage]
    #: The newest words of the others, and what the turn asks for.
    prompt: str
    #: Messages of the dialog that found no room; one that was cut counts, too.
    left_out: int = 0


def build_history(
    turn: TurnContext, *, max_tokens: int, plain: bool = False, summary: str = ""
) -> ModelHistory:
    """The dialog of a turn within `max_tokens`; `plain`: all in one prompt, for a small model.

    `summary` covers the messages before it.

    User and assistant alternate strictly and the user begins: many chat templates refuse
    anything else.
    """
    messages, left_out = fit_messages(turn.messages, max_tokens)
    if plain:
        return ModelHistory([], plain_prompt(turn, messages), left_out)
    said = [_said(message, turn) for message in messages]
    if summary:
        said.insert(0, (False, f"What was said before, in short: {summary}"))
    elif said and said[0][0]:
        said.insert(0, (False, opening_prompt(turn)))
    said.append((False, turn_prompt(turn)))
    blocks = [
        (mine, "\n\n".join(text for _, text in block)) for mine, block in groupby(said, key=itemgetter(0))
    ]
    *earlier, (_, prompt) = blocks
    return ModelHistory([_message(mine, text) for mine, text in earlier], prompt, left_out)


def _said(message: Message, turn: TurnContext) -> tuple[bool, str]:
    mine = message.speaker == turn.me.participant_id
    return mine, message.content if mine else attribute_message(message, turn.roster)


def _message(mine: bool, text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)]) if mine else ModelRequest(parts=[UserPromptPart(text)])


def fit_messages(messages: Sequence[Message], max_tokens: int) -> tuple[Sequence[Message], int]:
    """The newest messages that fit, and how many do not; of a newest one that is too long, its end."""
    recent = recent_messages(messages, max_tokens)
    if recent or not messages:
        return recent, len(messages) - len(recent)
    newest = messages[-1]
    return [newest.changed(content=f"...{newest.content[-2 * max_tokens :]}")], len(messages)
