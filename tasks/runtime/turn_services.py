"""Turn services: the call journal of a granted turn, what its agent may use, and the wait for the rate limit of models.

A worker creates them for a turn, and deletes their data when the turn is written.

The rate limit is shared by all workers. A turn's first model is checked before the turn begins
(`admission.py`). Fallback models are checked when they are needed, through the turn services of the agent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

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
MAX_WAIT_S = 1.0

#: Function that returns the rate limit of a model of the registry; None: it has none.
RateOf = Callable[[str], Rate | None]


def wait_for_permit(rates: RateLimiter, rate: Rate) -> Permit | int:
    """Wait at most `MAX_WAIT_S` seconds for a permit.

    Return it, or the milliseconds after which to retry.
    """
    deadline = time.monotonic() + MAX_WAIT_S
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


class TurnJournal(CallJournal):
    """Call journal of a granted turn, with the usage of each of its attempts by the token of the grant.

    Nothing is read in the first attempt, and nothing is written for an agent that uses no services. Methods that read
    raise RedisUnavailable.
    """

    def __init__(self, client: Redis, session_id: str, grant: Grant) -> None:
        super().__init__(client, session_id, grant.number, begun_before=grant.grants > 1)
        self._session_id = session_id
        self._grant = grant

    def store_answer(self, name: str, answer: str, *, spent: Usage | None = None) -> None:
        """Store an answer for later attempts, and the usage of this attempt so far; None: it is reported already."""
        self.store_now({name: answer, **self._account(spent)})

    def store_usage(self, spent: Usage) -> None:
        """Store the usage of this attempt so far, which would be lost if the attempt failed."""
        self.store_now(self._account(spent))

    def record_hit(self, hit: GuardHit, *, spent: Usage | None) -> None:
        """Store an answer that a guard refused, with the event of the hit, and the usage of this attempt so far.

        Raises:
            LeaseLost: Another worker has the turn, or it is no longer needed.
        """
        stored = {**hit.answer, **self._account(spent)}
        if not record_hit(self._client, self._session_id, self._grant, hit, stored):
            raise LeaseLost(self._session_id, self._grant.number)
        self.add_written(stored)

    def accounts(self) -> dict[str, Usage]:
        """Return the reported usage of all attempts, this one and earlier ones. Raises CorruptSession."""
        part = f"finished calls of turn {self._grant.number}"
        return {
            token: read_stored(Usage, text, session_id=self._session_id, part=part)
            for token, text in self.find_by_prefix(USAGE_KEY_PREFIX).items()
        }

    def _account(self, spent: Usage | None) -> dict[str, str]:
        """Return the entry of the journal with the usage of this attempt; empty for None."""
        return {} if spent is None else {USAGE_KEY_PREFIX + self._grant.token: spent.model_dump_json()}


class TurnServicesFactory:
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

    def open_journal(self, session_id: str, grant: Grant) -> TurnJournal:
        """Return the call journal of a turn."""
        return TurnJournal(self.client, session_id, grant)

    def open_recorder(self) -> TurnRecorder:
        """Return the recorder of a turn."""
        return TurnRecorder(tuple(self.secrets))

    def open_services(
        self,
        session_id: str,
        grant: Grant,
        participant: str,
        journal: TurnJournal,
        recorder: TurnRecorder | None,
        *,
        rate_of: RateOf,
        streams: bool,
    ) -> TurnServices:
        """Return the services of an agent for a turn.

        Args:
            session_id: The session.
            grant: The grant of the turn.
            participant: The participant whose turn it is.
            journal: The call journal of the turn.
            recorder: Recorder of the calls; None: the session does not record them.
            rate_of: Function that returns the rate limits of the fallback models.
            streams: Whether readers are shown the answer while it is written.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        journal.load()  # an outage here is no failure of the agent
        instrument = self.model_instrumentation
        notes = ParticipantNote(self.client, session_id, participant)
        return TurnServices(
            journal,
            self.open_listener(session_id, grant, participant) if streams else None,
            notes if recorder is None else recorder.record_notes(notes),
            tool_listener=ToolEventWriter(self.client, session_id, grant, participant, self.secrets),
            rate_limiter=ModelRateLimiter(self.client, rate_of),
            review_files=self.review_files,
            usage_key=USAGE_KEY_PREFIX + grant.token,
            instrumentation=instrument() if instrument else None,
            observer=recorder,
            confirm_turn=partial(self._confirm_turn, session_id, grant),
        )

    def open_listener(self, session_id: str, grant: Grant, participant: str) -> OutputListener | None:
        """Return the listener of the live output; None: the session has no followers."""
        return self.publisher.writer(session_id, grant, participant)

    async def _confirm_turn(self, session_id: str, grant: Grant) -> None:
        """Check that this worker still has the turn.

        Raises:
            AgentFailed: Another worker has the turn, it is no longer needed, or Redis does not answer.
        """
        try:
            has_turn = await asyncio.to_thread(self.renew, session_id, grant)
        except (RedisError, StateError) as error:
            raise AgentFailed(f"the lease of the turn cannot be checked: {error}") from error
        if not has_turn:
            raise AgentFailed("lease lost, the call is not made")
