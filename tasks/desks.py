"""What a worker lays on the desk of a turn's agent, and clears away afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from redis import Redis

from ..agents.desk import Desk, spent_after
from ..models.turn import Usage
from ..state.deltas import DeltaPublisher
from ..state.journal import TurnJournal
from ..state.notes import SessionNotes
from ..state.records import Grant
from ..state.stored import read_stored


class Desks:
    """The desks of all turns of a process."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.publisher = DeltaPublisher(client)

    def of(self, session_id: str, grant: Grant, participant: str) -> TurnDesk:
        """The desk of one grant."""
        return TurnDesk(self, session_id, grant, participant)


@dataclass(slots=True)
class TurnDesk:
    """The desk of one grant. Nothing is read or written for an agent that uses none."""

    desks: Desks
    session_id: str
    grant: Grant
    participant: str
    _journal: TurnJournal | None = field(default=None, init=False)

    def lay(self) -> Desk:
        """The desk. Raises RedisUnavailable."""
        if self._journal is None:  # asked twice in one attempt, an agent goes on where it was
            self._journal = TurnJournal(
                self.desks.client, self.session_id, self.grant.number, begun_before=self.grant.grants > 1
            )
        return Desk(
            self._journal,
            self.desks.publisher.writer(self.session_id, self.grant, self.participant),
            SessionNotes(self.desks.client, self.session_id, self.participant),
        )

    def spent(self, *, answers: int) -> Usage:
        """What attempts have spent since the turn got the last of so many answers, as far as its agent has told."""
        told = self._journal.recall(spent_after(answers)) if self._journal is not None else None
        if not told:
            return Usage()
        part = f"the finished calls of turn {self.grant.number}"
        return read_stored(Usage, told, session_id=self.session_id, part=part)

    def clear(self) -> None:
        """The turn is written: what was kept for another attempt is thrown away."""
        if self._journal is not None:
            self._journal.close()
