"""What stands on the desk of an agent: a journal of its finished calls, a note, and somebody who listens.

A turn's context is data and the same for everybody. Agents whose turns are dear or slow also
want to remember what they have paid for when their worker dies, to keep a note for their next turn,
and to be heard while they speak. All are ports: whoever runs the turn connects them, and an agent
works without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

#: How the name of an account begins: what one attempt alone has spent so far, a `Usage` as JSON.
ACCOUNT = "spent:"


class Journal(Protocol):
    """Answers of the calls that one turn has finished, by a name for the call; gone once the turn is written.

    A turn that is begun again after its worker died finds what the former attempts kept.
    """

    def recall(self, call: str) -> str | None:
        """The answer kept for a call; None: it has not finished yet."""
        ...

    async def keep(self, answers: Mapping[str, str]) -> None:
        """Keep answers by the names of their calls; when this returns they outlive the process. Never raises."""
        ...

    async def forget(self, kind: str) -> None:
        """Drop the answers of all calls whose name begins with `kind`. Never raises."""
        ...


class Listener(Protocol):
    """Somebody who reads along while the agent speaks. Both methods return at once and never raise."""

    def restart(self) -> None:
        """What was heard so far will not be said: it begins anew."""
        ...

    def hear(self, text: str) -> None:
        """The next piece of what is being said."""
        ...


class Notes(Protocol):
    """One note that an agent keeps for itself, for a participant, from turn to turn of a session."""

    async def recall(self) -> str | None:
        """The note; None: there is none. Never raises."""
        ...

    async def keep(self, note: str) -> None:
        """Replace the note. Never raises."""
        ...


class Minutes(Protocol):
    """What the providers of models take a minute, shared by all who ask them."""

    async def ask(self, model: str) -> float | None:
        """Counts a request to a model of the registry; or, with nothing counted, the seconds until it has room.

        Waits a moment where that does. Never raises.
        """
        ...


class MemoryJournal:
    """A journal that lasts as long as this object: for turns that nobody else begins again."""

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
    """What an agent may use for one turn."""

    journal: Journal = field(default_factory=MemoryJournal)
    #: None: nobody listens.
    listener: Listener | None = None
    notes: Notes = field(default_factory=MemoryNotes)
    #: Asked before a model that another did not answer for; None: nobody counts.
    minutes: Minutes | None = None
    #: Under this name an agent keeps what this attempt has spent, each time in all.
    account: str = ACCOUNT
