"""Turn services of an agent: created by a worker for the turn, and cleared afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from redis import Redis

from ...agents.turn_services import ACCOUNT, Desk
from ...models.turns.turn import Usage
from ...state.redis.stored import read_stored
from ...state.sessions.records import Grant
from ...state.turns.deltas import DeltaPublisher
from ...state.turns.journal import TurnJournal
from ...state.turns.notes import SessionNotes
from .rate_limit import ModelMinutes, RateOf


class Desks:
    """Turn services of all turns of a process."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.publisher = DeltaPublisher(client)

    def of(self, session_id: str, grant: Grant, participant: str) -> TurnDesk:
        """Return the turn services of one grant."""
        return TurnDesk(self, session_id, grant, participant)


@dataclass(slots=True)
class TurnDesk:
    """Turn services of one grant. Nothing is read or written for an agent that uses none."""

    desks: Desks
    session_id: str
    grant: Grant
    participant: str
    _journal: TurnJournal | None = field(default=None, init=False)

    def lay(self, rate_of: RateOf) -> Desk:
        """Create the services of a turn; `rate_of` returns the limits of the fallback models. Raises RedisUnavailable."""
        return Desk(
            self._open(),
            self.desks.publisher.writer(self.session_id, self.grant, self.participant),
            SessionNotes(self.desks.client, self.session_id, self.participant),
            minutes=ModelMinutes(self.desks.client, rate_of),
            account=ACCOUNT + self.grant.token,
        )

    def _open(self) -> TurnJournal:
        if self._journal is None:  # an agent that is asked twice in one attempt continues where it was
            self._journal = TurnJournal(
                self.desks.client, self.session_id, self.grant.number, begun_before=self.grant.grants > 1
            )
        return self._journal

    def accounts(self) -> dict[str, Usage]:
        """Return the token usage of all attempts, as far as their agents reported it: this one and those that died.

        Raises RedisUnavailable, CorruptSession.
        """
        if self._journal is None and self.grant.grants > 1:
            self._open()
        told = self._journal.begin_with(ACCOUNT) if self._journal is not None else {}
        part = f"finished calls of turn {self.grant.number}"
        return {
            token: read_stored(Usage, text, session_id=self.session_id, part=part)
            for token, text in told.items()
        }

    def keep_for(self, wait_ms: int) -> None:
        """Extend the lifetime of the stored data: the turn is parked and needs it when it continues."""
        if self._journal is not None:
            self._journal.last(wait_ms)

    def clear(self) -> None:
        """Delete the data stored for another attempt: the turn is written."""
        if self._journal is not None:
            self._journal.close()
