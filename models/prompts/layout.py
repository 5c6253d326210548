"""Parts of a request to a language model. Pure.

What does not change comes first: the session (A), the participant (B), the task (C), then the dialog, message by
message. Only the last part of a request is about this turn (F), and it is never part of a later request.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol.dialog import Message, Role
from ..text.tags import escape_tags, write_tag
from ..turns.turn import TurnContext


@dataclass(frozen=True, slots=True)
class Prompt:
    """Parts of a request besides the dialog."""

    #: What is equal for all participants of the session: first block of the system prompt.
    session: str
    #: The participant: second block of the system prompt; empty if `turn` begins with it.
    participant: str
    #: First block of the first message of the user, `<task>...</task>`.
    task: str
    #: Last block of the last message of the user, `<turn ...>...</turn>`.
    turn: str


def build_prompt(turn: TurnContext, instructions: str, *, structured: bool) -> Prompt:
    """Return the parts of a request.

    Args:
        turn: The turn.
        instructions: Instructions of the agent.
        structured: Whether the model answers with a tool in turns that have a form.
    """
    return Prompt(
        session=turn.mode_prompt,
        participant=instructions,
        task=write_tag("task", escape_tags(turn.purpose)),
        turn=write_tag("turn", escape_tags(turn.instruction), {"number": str(turn.turn_number)}),
    )


def is_own(message: Message, turn: TurnContext) -> bool:
    """Return whether a message is one of the participant, in this session."""
    return message.speaker == turn.me.participant_id and message.asked_by is None


def format_message(message: Message, turn: TurnContext) -> str:
    """Return a message of another as one block."""
    if message.role is Role.SYSTEM and message.author is None:
        return format_note(escape_tags(message.content))
    return write_tag("message", escape_tags(message.content), {"from": message.author or "user"})


def format_note(text: str) -> str:
    """Return a note of the engine; its text is not escaped."""
    return write_tag("note", text)
