"""The protocols of an agent, and the services that it may use during a turn.

An agent is given a `TurnContext` and answers with a `TurnOutcome`. It keeps no state of
its own between turns: the same agent object may answer for several sessions at once, and
the next turn may run in another process.

    class Polite:
        async def speak(self, turn: TurnContext) -> TurnOutcome:
            return TurnOutcome.say(f"Thank you all, says {turn.me.participant_id}.")

An agent reports a failure by raising: `AgentFailed` with `retryable` set as it fits; any
other exception counts as a failure that may be retried. It need not check the time: the
runner cancels it when the deadline of the turn has passed.

A turn's context is data and the same for all agents. Agents with expensive or slow turns
also need services: to store paid results in case their worker dies, to keep a note for
their next turn, to stream their output. All services are ports: the caller of the agent
connects them, and an agent works without them.

Source: Collab module, section 5 (participants take turns).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..models.turns.turn import TurnContext, TurnOutcome

#: Prefix of the name of an account: the usage of one attempt alone so far, a `Usage` as JSON.
USAGE_KEY_PREFIX = "spent:"


class CallJournalPort(Protocol):
    """Answers of the calls that one turn has finished, by a name for the call; gone once the turn is written.

    A turn that is begun again after its worker died finds what the former attempts kept.
    """

    def get_answer(self, call: str) -> str | None:
        """Return the stored answer of a call; None: it has not finished yet."""
        ...

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """Keep answers by the names of their calls; when this returns they outlive the process. Never raises."""
        ...

    async def delete_answers(self, kind: str) -> None:
        """Drop the answers of all calls whose name begins with `kind`. Never raises."""
        ...


class Listener(Protocol):
    """Listener of the output while the agent speaks. Both methods return at once and never raise."""

    def restart_output(self) -> None:
        """Discard the output so far: it starts again."""
        ...

    def add_output(self, text: str) -> None:
        """Handle the next piece of the output."""
        ...


class NoteStore(Protocol):
    """One note that an agent keeps for itself, for a participant, from turn to turn of a session."""

    async def read_note(self) -> str | None:
        """Return the note; None: there is none. Never raises."""
        ...

    async def write_note(self, note: str) -> None:
        """Replace the note. Never raises."""
        ...


class RateLimiterPort(Protocol):
    """Rate limits of the providers of models, shared by all callers."""

    async def acquire_request(self, model: str) -> float | None:
        """Count a request to a model of the registry; if it has no room, count nothing and return the seconds until it has.

        Waits for a moment if that is enough. Never raises.
        """
        ...


class InMemoryCallJournal:
    """A journal in memory: for turns that are not restarted by another process."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {}

    def get_answer(self, call: str) -> str | None:
        """As in Journal."""
        return self.calls.get(call)

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """As in Journal."""
        self.calls |= answers

    async def delete_answers(self, kind: str) -> None:
        """As in Journal."""
        self.calls = {call: answer for call, answer in self.calls.items() if not call.startswith(kind)}


class InMemoryNotes:
    """A note that lasts as long as this object."""

    def __init__(self) -> None:
        self.note: str | None = None

    async def read_note(self) -> str | None:
        """As in Notes."""
        return self.note

    async def write_note(self, note: str) -> None:
        """As in Notes."""
        self.note = note


@dataclass(frozen=True, slots=True)
class TurnServices:
    """Services that an agent may use for one turn."""

    journal: CallJournalPort = field(default_factory=InMemoryCallJournal)
    #: None: no listener.
    listener: Listener | None = None
    notes: NoteStore = field(default_factory=InMemoryNotes)
    #: Rate limit, asked before a fallback model is used; None: no limit.
    rate_limiter: RateLimiterPort | None = None
    #: Name under which an agent stores the total usage of this attempt.
    usage_key: str = USAGE_KEY_PREFIX


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
