"""A rolling summary of the messages that no longer fit a model's context window. Pure.

A summary covers the dialog up to one message; it is a participant's own and lasts as long as its session.
When what came after that message no longer fits, the older half is folded into the summary, so a model is
asked for one every few turns and not at each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from pydantic import Field

from ...models.protocol.dialog import Message
from ...models.turns.message_lists import estimate_tokens, recent_messages
from ...models.turns.turn import Frozen, TurnContext
from .prompts import attribute_message, name_of

SUMMARY_INSTRUCTIONS = (
    "You keep the minutes of a conversation. Summarise in few words what was said: facts, decisions and by whom, "
    "open questions. Answer with the minutes and nothing else."
)


class Summary(Frozen):
    """What was said up to some message."""

    text: str = ""
    #: Fingerprint of the last summarised message; empty: none.
    until: str = ""
    #: Messages it covers.
    covered: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class SplitDialog:
    """A dialog, divided."""

    #: To be folded into the summary; mostly empty.
    to_summarize: Sequence[Message]
    #: Shown as they were said.
    to_show: Sequence[Message]


def split_dialog(messages: Sequence[Message], summary: Summary, *, max_tokens: int) -> SplitDialog:
    """What of a dialog the summary has yet to take in, so that the rest fits beside it."""
    marks = [message_fingerprint(message) for message in messages]
    rest = messages[marks.index(summary.until) + 1 :] if summary.until in marks else messages
    room = remaining_tokens(summary, max_tokens)
    if sum(estimate_tokens(message.content) for message in rest) <= room:
        return SplitDialog((), rest)
    kept = recent_messages(rest, room // 2) or rest[-1:]
    return SplitDialog(rest[: len(rest) - len(kept)], kept)


def remaining_tokens(summary: Summary, max_tokens: int) -> int:
    """Tokens that the summary leaves for what was said since; a quarter of all at least."""
    return max(max_tokens - estimate_tokens(summary.text), max_tokens // 4, 1)


def summary_prompt(turn: TurnContext, summary: Summary, folded: Sequence[Message]) -> str:
    """What a model is asked to make the next summary of."""
    said = [
        f"{name_of(turn.me)}: {message.content}"
        if message.speaker == turn.me.participant_id
        else attribute_message(message, turn.roster)
        for message in folded
    ]
    before = [f"Minutes so far: {summary.text}", ""] if summary.text else []
    return "\n".join([f"Purpose: {turn.purpose}", *before, *said])


def extend_summary(summary: Summary, folded: Sequence[Message], text: str) -> Summary:
    """The next summary."""
    return Summary(text=text, until=message_fingerprint(folded[-1]), covered=summary.covered + len(folded))


def message_fingerprint(message: Message) -> str:
    """Return a fingerprint of a message that is unique in its dialog."""
    told = (message.token_id, message.speaker, message.timestamp.isoformat(), message.content)
    return sha256(repr(told).encode()).hexdigest()[:16]
