"""People: they are asked, and answer minutes or days later. No worker waits for them.

A person's agent says nothing itself. It asks whoever sits in its seat, and the turn is parked
until somebody replies: with `symposia reply`, with `job.reply`, or with a signed callback.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..models.turn import TurnContext, TurnOutcome
from ..models.waiting import WaitPolicy

#: Characters of an instruction that a question repeats.
MAX_ASKED = 10_000


@runtime_checkable
class Absent(Protocol):
    """An agent that answers later: its question to its own participant parks the turn."""

    @property
    def wait(self) -> WaitPolicy:
        """How long it is waited for, and what then."""
        ...


class HumanAgent:
    """A person's seat."""

    def __init__(self, wait: WaitPolicy) -> None:
        self.wait = wait

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the person for this turn's words."""
        return own_question(turn)


def own_question(turn: TurnContext) -> TurnOutcome:
    """What whoever sits in the turn's own seat is asked."""
    asked = turn.instruction.strip() or (turn.item.text if turn.item else "")
    return TurnOutcome.ask(turn.me.participant_id, asked[:MAX_ASKED])
