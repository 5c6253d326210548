"""Turn services of one grant, and the wait for the rate limit of models.

A worker creates the services for a turn, and deletes their data when the turn is written.

The rate limit is shared by all workers. A turn's first model is checked before the turn begins
(`admission.py`). Fallback models are checked when they are needed, through the turn services of the agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from redis import Redis
from redis.exceptions import RedisError

from ...agents.agent import USAGE_KEY_PREFIX, ReviewFilesPort, TurnServices
from ...models.errors import AgentFailed, LeaseLost, StateError
from ...models.sessions.limits import Rate
from ...models.turns.streaming import OutputListener
from ...models.turns.turn import Usage
from ...state.redis.readers import read_stored
from ...state.sessions.records import Grant
from ...state.turns.deltas import DeltaPublisher, ToolEventWriter
from ...state.turns.journal import CallJournal, GuardHit, ParticipantNote, record_hit
from ...state.usage_limits import Permit, RateLimiter
from .recording import TurnRecorder

log = logging.getLogger(__name__)

#: Maximum seconds for which a turn waits in a worker for the rate limit of its model.
MOST_WAIT_S = 1.0

#: Function that returns the rate limit of a model of the registry; None: it has none.
RateOf = Callable[[str], Rate | None]


def wait_for_permit(rates: RateLimiter, rate: Rate) -> Permit | int:
    """Wait at most `MOST_WAIT_S` seconds for a permit.

    Return it, or the milliseconds after which to retry.
    """
    deadline = time.monotonic() + MOST_WAIT_S
    while isinstance(answer := rates.admit(rate), int) and time.monotonic() + answer / 1000 <= deadline:
        time.sleep(answer / 1000)
    return answer


class ModelRateLimiter:
    """Rate limiter of an agent's fallback models: part of the agent's turn services.

    Args:
        client: Redis client that decodes responses.
        rate_of: Function that returns the rate limit of a model.
    """

    def __init__(self, client: Redis, rate_of: RateOf) -> None:
        self._rates = RateLimiter(client)
        self._rate_of = rate_of

    async def acquire_request(self, model: str) -> float | None:
        """Count one request to a model.

        During a Redis outage the request is not counted, and the model may be called.

        Returns:
            Seconds after which to retry; None: the model may be called.
        """
        rate = self._rate_of(model)
        if rate is None:
            return None
        try:
            answer = await asyncio.to_thread(wait_for_permit, self._rates, rate)
        except (RedisError, StateError) as error:
            log.warning("counting a request to %s for the rate limit failed: %s", model, error)
            return None
        return answer / 1000 if isinstance(answer, int) else None


class GrantServicesFactory:
    """Factory of the turn services of a process.

    Args:
        client: Redis client that decodes responses.
        review_files: Files that models of reviews may read.
        model_instrumentation: Function that returns pydantic-ai's settings of traces; None: no traces.
        secrets: Texts that records of turns must not contain.
        renew: Function that renews the lease of a turn, and returns whether this worker still has it.
    """

    def __init__(
        self,
        client: Redis,
        *,
        review_files: ReviewFilesPort,
        model_instrumentation: Callable[[], object] | None = None,
        secrets: Iterable[str] = (),
        renew: Callable[[str, Grant], bool],
    ) -> None:
        self.client = client
        self.renew = renew
        self.secrets = secrets
        self.publisher = DeltaPublisher(client)
        self.review_files = review_files
        self.model_instrumentation = model_instrumentation

    def create(
        self, session_id: str, grant: Grant, participant: str, *, records: bool = False
    ) -> GrantServices:
        """Return the turn services of one grant; `records`: the session records its calls."""
        recorder = TurnRecorder(tuple(self.secrets)) if records else None
        return GrantServices(self, session_id, grant, participant, recorder)


@dataclass(slots=True)
class GrantServices:
    """Turn services of one grant. Nothing is read or written for an agent that uses none."""

    factory: GrantServicesFactory
    session_id: str
    grant: Grant
    participant: str
    #: Recorder of the calls; None: the session does not record them.
    recorder: TurnRecorder | None = None
    journal: CallJournal | None = field(default=None, init=False)

    def open_services(self, rate_of: RateOf, *, streams: bool = True) -> TurnServices:
        """Create the turn services of an agent.

        Args:
            rate_of: Function that returns the rate limits of the fallback models.
            streams: Whether readers are shown the answer while it is written.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        instrument = self.factory.model_instrumentation
        notes = ParticipantNote(self.factory.client, self.session_id, self.participant)
        return TurnServices(
            self._open(),
            self.open_listener() if streams else None,
            notes if self.recorder is None else self.recorder.record_notes(notes),
            tool_listener=ToolEventWriter(
                self.factory.client, self.session_id, self.grant, self.participant, self.factory.secrets
            ),
            rate_limiter=ModelRateLimiter(self.factory.client, rate_of),
            review_files=self.factory.review_files,
            usage_key=USAGE_KEY_PREFIX + self.grant.token,
            instrumentation=instrument() if instrument else None,
            observer=self.recorder,
            confirm_turn=self.confirm_turn,
        )

    def open_listener(self) -> OutputListener | None:
        """Return the listener of the live output; None: nobody follows.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self.factory.publisher.writer(self.session_id, self.grant, self.participant)

    async def confirm_turn(self) -> None:
        """Check that this worker still has the turn.

        Raises:
            AgentFailed: Another worker has the turn, it is no longer needed, or Redis does not answer.
        """
        try:
            has_turn = await asyncio.to_thread(self.factory.renew, self.session_id, self.grant)
        except (RedisError, StateError) as error:
            raise AgentFailed(f"the lease of the turn cannot be checked: {error}") from error
        if not has_turn:
            raise AgentFailed("lease lost, the call is not made")

    def _open(self) -> CallJournal:
        if (
            self.journal is None
        ):  # an agent that is called twice in one attempt continues with the same journal
            self.journal = CallJournal(
                self.factory.client, self.session_id, self.grant.number, begun_before=self.grant.grants > 1
            )
        return self.journal

    def recall_answer(self, name: str) -> str | None:
        """Return an answer that this attempt or an earlier one has stored under this name; None: there is none.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        if self.journal is None and self.grant.grants > 1:
            self._open()
        return None if self.journal is None else self.journal.get_answer(name)

    def store_answer(self, name: str, answer: str, *, spent: Usage | None = None) -> None:
        """Store an answer for later attempts of the turn.

        Args:
            name: Name of the answer.
            answer: The answer.
            spent: Usage of this attempt so far; None: it is reported already.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        self._open().store_now({name: answer, **self._account(spent)})

    def store_usage(self, spent: Usage) -> None:
        """Store the usage of this attempt so far, which would be lost if the attempt failed."""
        self._open().store_now(self._account(spent))

    def recall_answers(self, prefix: str) -> dict[str, str]:
        """Return the stored answers whose names start with `prefix`, by the rest of the name.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        if self.journal is None and self.grant.grants > 1:
            self._open()
        return {} if self.journal is None else self.journal.find_by_prefix(prefix)

    def record_hit(self, hit: GuardHit, *, spent: Usage | None) -> None:
        """Store an answer that a guard refused, with the event of the hit, and the usage of this attempt so far.

        Raises:
            LeaseLost: Another worker has the turn, or it is no longer needed.
            RedisUnavailable: Redis does not answer.
        """
        stored = {**hit.answer, **self._account(spent)}
        if not record_hit(self.factory.client, self.session_id, self.grant, hit, stored):
            raise LeaseLost(self.session_id, self.grant.number)
        self._open().add_written(stored)

    def _account(self, spent: Usage | None) -> dict[str, str]:
        """Return the entry of the journal with the usage of this attempt; empty for None."""
        return {} if spent is None else {USAGE_KEY_PREFIX + self.grant.token: spent.model_dump_json()}

    def accounts(self) -> dict[str, Usage]:
        """Return the reported usage of all attempts, this one and earlier ones, by the token of the grant.

        Raises:
            RedisUnavailable: Redis does not answer.
            CorruptSession: A stored record is invalid.
        """
        if self.journal is None and self.grant.grants > 1:
            self._open()
        stored_accounts = self.journal.find_by_prefix(USAGE_KEY_PREFIX) if self.journal is not None else {}
        part = f"finished calls of turn {self.grant.number}"
        return {
            token: read_stored(Usage, text, session_id=self.session_id, part=part)
            for token, text in stored_accounts.items()
        }

    def extend_ttl(self, wait_ms: int) -> None:
        """Keep the stored data for `wait_ms` milliseconds, because a parked turn needs it later."""
        if self.journal is not None:
            self.journal.extend_ttl(wait_ms)

    def delete_data(self) -> None:
        """Delete the stored data, because the turn is written and needs no other attempt."""
        if self.journal is not None:
            self.journal.close()
