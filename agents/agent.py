"""The protocol of an agent: the one method a participant's seat needs.

An agent is given a `TurnContext` and answers with a `TurnOutcome`. It keeps no state of
its own between turns: the same agent object may speak for several sessions at once, and
the next turn may run in another process.

    class Polite:
        async def speak(self, turn: TurnContext) -> TurnOutcome:
            return TurnOutcome.say(f"Thank you all, says {turn.me.participant_id}.")

An agent says that it cannot speak by raising: `AgentFailed` with `retryable` set as it
fits; any other exception counts as a failure that may be retried. It need not watch the
clock: the runner cancels it when the turn's deadline has passed.

Source: Collab module, section 5 (participants take turns).
"""

from __future__ import annotations

from typing import Protocol

from ..models.turns.turn import TurnContext, TurnOutcome
from .turn_services import TurnServices


class Agent(Protocol):
    """Speaker of a participant's turns; awaits what it needs and never blocks the event loop."""

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Take the turn."""
        ...


class AgentWithServices(Protocol):
    """An agent that also uses the services of its turn."""

    async def speak_with_services(self, turn: TurnContext, desk: TurnServices) -> TurnOutcome:
        """Take the turn."""
        ...


class InstantAgent(Protocol):
    """An agent that answers from memory, in well under a millisecond.

    It is called where the turn runs, with no hop to the event loop and no deadline: it
    must not wait for anything.
    """

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Take the turn at once."""
        ...


AnyAgent = Agent | AgentWithServices | InstantAgent
