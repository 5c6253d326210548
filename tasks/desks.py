"""What a worker lays on the desk of a turn's agent, and clears away afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from redis import Redis

from ..agents.desk import ACCOUNT, Desk
from ..models.turn import Usage
from ..state.deltas import DeltaPublisher
from ..state.journal import TurnJournal
from ..state.notes import SessionNotes
from ..state.records import Grant
from ..state.stored import read_stored
from .minutes import ModelMinutes, RateOf


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

    def lay(self, rate_of: RateOf) -> Desk:
        """The desk; `rate_of` tells the limits of the models that its agent may fall back on. Raises RedisUnavailable."""
        return Desk(
            self._open(),
            self.desks.publisher.writer(self.session_id, self.grant, self.participant),
            SessionNotes(self.desks.client, self.session_id, self.participant),
            minutes=ModelMinutes(self.desks.client, rate_of),
            account=ACCOUNT + self.grant.token,
        )

    def _open(self) -> TurnJournal:
        if self._journal is None:  # asked twice in one attempt, an agent goes on where it was
            self._journal = TurnJournal(
                self.desks.client, self.session_id, self.grant.number, begun_before=self.grant.grants > 1
            )
        return self._journal

    def accounts(self) -> dict[str, Usage]:
        """What attempts have spent, by their tokens, as far as their agents have told: this one, and those that died.

        Raises RedisUnavailable, CorruptSession.
        """
        if self._journal is None and self.grant.grants > 1:
            self._open()
        told = self._journal.begin_with(ACCOUNT) if self._journal is not None else {}
        part = f"the finished calls of turn {self.grant.number}"
        return {
            token: read_stored(Usage, text, session_id=self.session_id, part=part)
            for token, text in told.items()
        }

    def keep_for(self, wait_ms: int) -> None:
        """The turn waits: what was kept is there when it goes on."""
        if self._journal is not None:
            self._journal.last(wait_ms)

    def clear(self) -> None:
        """The turn is written: what was kept for another attempt is thrown away."""
        if self._journal is not None:
            self._journal.close()
