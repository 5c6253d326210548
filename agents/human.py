"""Agents for people, who answer minutes or days later, while no worker waits.

A person's agent writes no message. It asks the person of its participant, and the turn is parked
until an answer arrives: by `symposia reply`, `job.reply`, or a signed callback.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..models.turns.turn import TurnContext, TurnOutcome
from ..models.turns.waiting import WaitPolicy

#: Maximum characters of an instruction in a question.
MAX_QUESTION_CHARS = 10_000


@runtime_checkable
class DeferredAgent(Protocol):
    """An agent that answers later: its question to its own participant parks the turn."""

    @property
    def wait(self) -> WaitPolicy:
        """How long to wait for the answer, and what to do after that."""
        ...


class HumanAgent:
    """The agent of a person."""

    def __init__(self, wait: WaitPolicy) -> None:
        self.wait = wait

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the person for the output of this turn."""
        return ask_own_participant(turn)


def ask_own_participant(turn: TurnContext) -> TurnOutcome:
    """Return the question to the person whose turn it is."""
    asked = turn.instruction.strip() or (turn.item.text if turn.item else "")
    return TurnOutcome.ask(turn.me.participant_id, asked[:MAX_QUESTION_CHARS])
