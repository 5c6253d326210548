"""The active turn of a worker, and retries of its writes during a Redis outage.

Writes are retried until the turn's deadline, because an answer that is not written is lost, but paid for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from ...models.errors import RedisUnavailable
from ...models.memory.recall import RecalledMemory
from ...models.metrics import TurnOutcomeLabel
from ...models.sessions.options import FailurePolicy
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import TurnOutcome, Usage
from ...models.turns.waiting import ParkedQuestion
from ...state.redis.readers import read_stored
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.turn_records import sum_usage
from ..runtime.metrics import TurnMetrics
from ..runtime.runtime import Runtime
from ..runtime.turn_services import GrantServices
from ..views.session_views import SessionFacts, decode_waiting
from .admission import Admission
from .results import MessageBuilder

#: Seconds after the agent's deadline in which its turn can still be returned or closed normally.
WRITE_GRACE_S = 5.0
#: Prefix of the journal key of an invalid output; the name of its agent follows.
REFUSED_ANSWER = "refused:"


@dataclass(frozen=True, slots=True)
class ActiveTurn:
    """A granted turn and everything that belongs to it."""

    facts: SessionFacts
    state: SessionState
    grant: Grant
    planned: PlannedTurn
    policy: FailurePolicy
    task_id: str
    services: GrantServices
    #: `time.monotonic()` of the grant, in seconds.
    since: float
    #: Reservations of the turn outside its session.
    admission: Admission
    #: The memory read by the turn; None in a session without memory.
    recalled_memory: RecalledMemory | None = None
    #: Name of the worker that runs the Celery task.
    worker: str = ""

    @property
    def session_id(self) -> str:
        """Return the id of the turn's session."""
        return self.facts.session_id

    def now(self) -> datetime:
        """Return the current time by the server's clock, because the worker's clock may be wrong by hours."""
        elapsed_s = time.monotonic() - self.since
        return datetime.fromtimestamp(self.state.now_ms / 1000 + elapsed_s, UTC)

    @property
    def message_builder(self) -> MessageBuilder:
        """Return the builder of the turn's messages and result."""
        grant, record = self.grant, self.state.records[self.grant.number]
        before = {**self.accounts(), **record.spent, grant.token: Usage()}
        return MessageBuilder(
            self.facts,
            self.planned,
            grant.number,
            grant.token,
            grant.fence,
            self.waiting,
            sum_usage(before.values()),
        )

    @property
    def waiting(self) -> ParkedQuestion | None:
        """Return the earlier questions and answers of this turn; None for nearly every turn."""
        record = self.state.records[self.grant.number]
        return decode_waiting(self.state, record) if record.wait else None

    @property
    def agent(self) -> str:
        """Return the name of the agent that has the turn."""
        return self.grant.substitute or self.facts.spec.agents[self.planned.participant].agent

    def refused_answer(self) -> TurnOutcome | None:
        """Return the invalid output that this agent gave in this turn, in this attempt or an earlier one.

        Raises:
            RedisUnavailable: Redis does not answer.
            CorruptSession: A stored record is invalid.
        """
        if not self.planned.output:
            return None
        text = self.services.recall_answer(REFUSED_ANSWER + self.agent)
        part = f"the refused answer of turn {self.grant.number}"
        return None if text is None else read_stored(TurnOutcome, text, session_id=self.session_id, part=part)

    def store_refused_answer(self, outcome: TurnOutcome) -> None:
        """Store an invalid output with its usage, so that a later attempt only asks for the correction.

        The usage is an account of this attempt: whichever attempts report it, it is booked once.
        """
        spent = None if self.own_usage != Usage() else outcome.usage
        self.services.store_answer(REFUSED_ANSWER + self.agent, outcome.model_dump_json(), spent=spent)

    def accounts(self) -> dict[str, Usage]:
        """Return the reported usage of all attempts, this one and earlier ones.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self.services.accounts()

    @property
    def own_usage(self) -> Usage:
        """Return the usage of this attempt, as reported by its agent."""
        return self.accounts().get(self.grant.token, Usage())


def count_end(
    runtime: Runtime, active_turn: ActiveTurn, outcome: TurnOutcomeLabel, *, refused: str = ""
) -> None:
    """Count the end of an attempt; `refused`: the answer of the script that did not write it."""
    metrics = TurnMetrics(runtime.metrics, active_turn.facts.collab.mode)
    metrics.ended(outcome, time.monotonic() - active_turn.since)
    if refused:
        metrics.refused(refused)


def write_deadline(runtime: Runtime, active_turn: ActiveTurn) -> float:
    """Return the time, by `time.monotonic()`, until which writing the output is retried."""
    return active_turn.since + turn_timeout_s(runtime, active_turn.policy) + WRITE_GRACE_S


def turn_timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    """Return the seconds that an agent may take."""
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s


log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two attempts; shorter than any lease, so that the lease does not expire in between.
PAUSE_S = 0.25


def retry_during_outage(write: Callable[[], T], *, until: float, what: str) -> T:
    """Return the result of `write`; retry while Redis is unavailable.

    Args:
        write: Function that calls a script; a repeated call gives the same answer.
        until: Time to give up, by `time.monotonic()`.
        what: Name of the write, for the log.

    Raises:
        RedisUnavailable: Redis was still unavailable at that time.
    """
    is_first = True
    while True:
        try:
            return write()
        except RedisUnavailable as error:
            if time.monotonic() >= until:
                raise
            if is_first:
                log.warning("writing %s failed, retrying: %s", what, error)
        is_first = False
        time.sleep(PAUSE_S)
