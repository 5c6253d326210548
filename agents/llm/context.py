"""The dialog as a model's history: the newest messages that fit, and a rolling summary of the rest. Pure.

The system prompt, which contains the purpose, and the request of the turn are always included. The newest
messages of the dialog are included within the token budget of the agent. In a review, the opening message
with the reviewed text is always included, or the turn fails: nothing that a model has not seen may count as
reviewed.

A summary covers the dialog up to one message. It belongs to one participant and is kept until the session
ends. When the messages after it no longer fit, their older half is added to the summary, so a summary is
requested every few turns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pydantic import Field
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from ...models.errors import AgentFailed
from ...models.protocol.dialog import Message, message_digest
from ...models.review.runs import REVIEW_PARAMETER
from ...models.turns.frozen import Frozen
from ...models.turns.message_lists import estimate_tokens, recent_messages
from ...models.turns.turn import TurnContext
from .prompts import attribute_message, name_of, opening_prompt, plain_prompt, turn_prompt


@dataclass(frozen=True, slots=True)
class ModelHistory:
    """Messages for a model besides its system prompt."""

    earlier: list[ModelMessage]
    #: The newest messages of the others, and the request of the turn.
    prompt: str
    #: Number of messages that are left out or cut.
    left_out: int = 0


def build_history(
    turn: TurnContext, *, max_tokens: int, plain: bool = False, summary: str = ""
) -> ModelHistory:
    """Return the dialog of a turn within a token limit.

    User and assistant alternate strictly and the user begins: many chat templates refuse anything else.

    Args:
        turn: The turn.
        max_tokens: Maximum tokens of the dialog.
        plain: Put all in one prompt, for a small model.
        summary: Summary of the messages before the dialog; empty: none.

    Raises:
        AgentFailed: The opening message of a review does not fit.
    """
    messages, left_out = fit_messages(turn.messages, max_tokens, pinned=int(has_pinned_opening(turn)))
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


def has_pinned_opening(turn: TurnContext) -> bool:
    """Return whether the first message is the opening of a review."""
    return REVIEW_PARAMETER in turn.parameters and bool(turn.messages) and turn.messages[0].speaker is None


def fit_messages(
    messages: Sequence[Message], max_tokens: int, *, pinned: int = 0
) -> tuple[Sequence[Message], int]:
    """Return the newest messages that fit, and the number of the others; the newest is cut if too long.

    Args:
        messages: The dialog.
        max_tokens: Maximum tokens of the messages together.
        pinned: Number of messages at the beginning that are included unchanged.

    Raises:
        AgentFailed: The pinned messages do not fit.
    """
    first, rest = messages[:pinned], messages[pinned:]
    needed = sum(estimate_tokens(message.content) for message in first)
    if first and needed > max_tokens:
        rule = f"the reviewed text needs {needed:,} tokens, and the model or the budget allows {max_tokens:,}"
        raise AgentFailed(rule, retryable=False)
    room = max_tokens - needed
    recent = recent_messages(rest, room)
    if recent or not rest or not room:
        return [*first, *recent], len(rest) - len(recent)
    newest = rest[-1]
    return [*first, newest.changed(content=f"...{newest.content[-2 * room :]}")], len(rest)


SUMMARY_INSTRUCTIONS = (
    "You keep the minutes of a conversation. Summarise in few words what was said: facts, decisions and by whom, "
    "open questions. Answer with the minutes and nothing else."
)


class Summary(Frozen):
    """Summary of the dialog up to one message."""

    text: str = ""
    #: Fingerprint of the last summarised message; empty: none.
    until: str = ""
    #: Number of summarised messages.
    covered: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class SplitDialog:
    """A dialog, split into messages to summarise and messages to show."""

    #: Messages to add to the summary; usually none.
    to_summarize: Sequence[Message]
    #: Messages to show unchanged.
    to_show: Sequence[Message]


def split_dialog(messages: Sequence[Message], summary: Summary, *, max_tokens: int) -> SplitDialog:
    """Split a dialog: messages to add to the summary so that the rest fits, and the rest."""
    marks = [message_digest(message) for message in messages]
    rest = messages[marks.index(summary.until) + 1 :] if summary.until in marks else messages
    room = remaining_tokens(summary, max_tokens)
    if sum(estimate_tokens(message.content) for message in rest) <= room:
        return SplitDialog((), rest)
    kept = recent_messages(rest, room // 2) or rest[-1:]
    return SplitDialog(rest[: len(rest) - len(kept)], kept)


def remaining_tokens(summary: Summary, max_tokens: int) -> int:
    """Return the tokens left for the messages after the summary, at least a quarter of `max_tokens`."""
    return max(max_tokens - estimate_tokens(summary.text), max_tokens // 4, 1)


def summary_prompt(turn: TurnContext, summary: Summary, folded: Sequence[Message]) -> str:
    """Return the prompt that requests the next summary: the current one, and the messages to add."""
    said = [
        f"{name_of(turn.me)}: {message.content}"
        if message.speaker == turn.me.participant_id
        else attribute_message(message, turn.roster)
        for message in folded
    ]
    before = [f"Minutes so far: {summary.text}", ""] if summary.text else []
    return "\n".join([f"Purpose: {turn.purpose}", *before, *said])


def extend_summary(summary: Summary, folded: Sequence[Message], text: str) -> Summary:
    """Return the next summary, with the text that a model wrote."""
    return Summary(text=text, until=message_digest(folded[-1]), covered=summary.covered + len(folded))
