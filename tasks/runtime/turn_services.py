"""Turn services of an agent: created by a worker for the turn, and cleared afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from redis import Redis

from ...agents.turn_services import USAGE_KEY_PREFIX, TurnServices
from ...models.turns.turn import Usage
from ...state.redis.stored import read_stored
from ...state.sessions.records import Grant
from ...state.turns.deltas import DeltaPublisher
from ...state.turns.journal import CallJournal
from ...state.turns.notes import ParticipantNote
from .rate_limit import ModelRateLimiter, RateOf


class GrantServicesFactory:
    """Turn services of all turns of a process."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.publisher = DeltaPublisher(client)

    def create(self, session_id: str, grant: Grant, participant: str) -> GrantServices:
        """Return the turn services of one grant."""
        return GrantServices(self, session_id, grant, participant)


@dataclass(slots=True)
class GrantServices:
    """Turn services of one grant. Nothing is read or written for an agent that uses none."""

    factory: GrantServicesFactory
    session_id: str
    grant: Grant
    participant: str
    _journal: CallJournal | None = field(default=None, init=False)

    def open_services(self, rate_of: RateOf) -> TurnServices:
        """Create the services of a turn; `rate_limit_of` returns the limits of the fallback models. Raises RedisUnavailable."""
        return TurnServices(
            self._open(),
            self.factory.publisher.writer(self.session_id, self.grant, self.participant),
            ParticipantNote(self.factory.client, self.session_id, self.participant),
            rate_limiter=ModelRateLimiter(self.factory.client, rate_of),
            usage_key=USAGE_KEY_PREFIX + self.grant.token,
        )

    def _open(self) -> CallJournal:
        if self._journal is None:  # an agent that is asked twice in one attempt continues where it was
            self._journal = CallJournal(
                self.factory.client, self.session_id, self.grant.number, begun_before=self.grant.grants > 1
            )
        return self._journal

    def accounts(self) -> dict[str, Usage]:
        """Return the token usage of all attempts, as far as their agents reported it: this one and those that died.

        Raises RedisUnavailable, CorruptSession.
        """
        if self._journal is None and self.grant.grants > 1:
            self._open()
        told = self._journal.find_by_prefix(USAGE_KEY_PREFIX) if self._journal is not None else {}
        part = f"finished calls of turn {self.grant.number}"
        return {
            token: read_stored(Usage, text, session_id=self.session_id, part=part)
            for token, text in told.items()
        }

    def extend_ttl(self, wait_ms: int) -> None:
        """Extend the lifetime of the stored data: the turn is parked and needs it when it continues."""
        if self._journal is not None:
            self._journal.extend_ttl(wait_ms)

    def delete_data(self) -> None:
        """Delete the data stored for another attempt: the turn is written."""
        if self._journal is not None:
            self._journal.close()
