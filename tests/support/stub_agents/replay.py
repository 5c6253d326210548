"""Python agents of recorded sessions, which count their turns."""

from __future__ import annotations

from symposia.models.turns.turn import TurnContext

#: Turn numbers of the calls in this process.
calls: list[int] = []


def counted(turn: TurnContext) -> str:
    calls.append(turn.turn_number)
    return f"I am {turn.me.participant_id}."


def renamed(turn: TurnContext) -> str:
    calls.append(turn.turn_number)
    return f"It is me, {turn.me.participant_id}."
