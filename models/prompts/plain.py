"""Short prompts for small models: the task, the dialog and one question, without tags. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol.dialog import Message
from ..turns.turn import TurnContext


def plain_system_prompt(turn: TurnContext, instructions: str) -> str:
    """Return the system prompt for a small model."""
    name = turn.me.display_name or turn.me.participant_id
    return f"You are {name}. {instructions.strip() or 'Answer in one to three short sentences.'}"


def plain_prompt(turn: TurnContext, messages: Sequence[Message], *, before: Sequence[str] = ()) -> str:
    """Return the task, the dialog and the question in one prompt.

    Args:
        turn: The turn.
        messages: The messages to show.
        before: Lines in place of messages that are left out.
    """
    shown = [f"{message.author or 'user'} said:\n  {message.content}" for message in messages]
    return "\n".join([f"Task: {turn.purpose}", *before, *shown, "", turn.instruction])
