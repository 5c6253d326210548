"""Services of one turn: journal of finished calls, note, stream listener.

A turn's context is data and the same for all agents. Agents with expensive or slow turns also
need to keep paid results when their worker dies, to keep a note for their next turn,
and to stream their output. All services are ports: the caller of the agent connects them, and an agent
works without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: Prefix of the name of an account: the usage of one attempt alone so far, a `Usage` as JSON.
ACCOUNT = "spent:"


class Journal(Protocol):
    """Answers of the calls that one turn has finished, by a name for the call; gone once the turn is written.

    A turn that is begun again after its worker died finds what the former attempts kept.
    """

    def recall(self, call: str) -> str | None:
        """Return the stored answer of a call; None: it has not finished yet."""
        ...

    async def keep(self, answers: Mapping[str, str]) -> None:
        """Keep answers by the names of their calls; when this returns they outlive the process. Never raises."""
        ...

    async def forget(self, kind: str) -> None:
        """Drop the answers of all calls whose name begins with `kind`. Never raises."""
        ...


class Listener(Protocol):
    """Listener of the output while the agent speaks. Both methods return at once and never raise."""

    def restart(self) -> None:
        """Discard the output so far: it starts again."""
        ...

    def hear(self, text: str) -> None:
        """Handle the next piece of the output."""
        ...


class Notes(Protocol):
    """One note that an agent keeps for itself, for a participant, from turn to turn of a session."""

    async def recall(self) -> str | None:
        """Return the note; None: there is none. Never raises."""
        ...

    async def keep(self, note: str) -> None:
        """Replace the note. Never raises."""
        ...


class Minutes(Protocol):
    """Rate limits of the providers of models, shared by all callers."""

    async def ask(self, model: str) -> float | None:
        """Count a request to a model of the registry; if it has no room, count nothing and return the seconds until it has.

        Waits for a moment if that is enough. Never raises.
        """
        ...


class MemoryJournal:
    """A journal in memory: for turns that are not restarted by another process."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {}

    def recall(self, call: str) -> str | None:
        """As in Journal."""
        return self.calls.get(call)

    async def keep(self, answers: Mapping[str, str]) -> None:
        """As in Journal."""
        self.calls |= answers

    async def forget(self, kind: str) -> None:
        """As in Journal."""
        self.calls = {call: answer for call, answer in self.calls.items() if not call.startswith(kind)}


class MemoryNotes:
    """A note that lasts as long as this object."""

    def __init__(self) -> None:
        self.note: str | None = None

    async def recall(self) -> str | None:
        """As in Notes."""
        return self.note

    async def keep(self, note: str) -> None:
        """As in Notes."""
        self.note = note


@dataclass(frozen=True, slots=True)
class Desk:
    """Services that an agent may use for one turn."""

    journal: Journal = field(default_factory=MemoryJournal)
    #: None: no listener.
    listener: Listener | None = None
    notes: Notes = field(default_factory=MemoryNotes)
    #: Rate limit, asked before a fallback model is used; None: no limit.
    minutes: Minutes | None = None
    #: Name under which an agent stores the total usage of this attempt.
    account: str = ACCOUNT
