"""The turn that a worker has, and retries of its writes during a Redis outage.

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
from ...models.protocol.dialog import Message
from ...models.sessions.options import AgentBinding, FailurePolicy
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import NO_USAGE, TurnOutcome, Usage
from ...models.turns.waiting import ParkedQuestion
from ...state.redis.readers import read_stored
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.turn_records import TaskInfo, TurnRecord, sum_usage
from ..runtime.metrics import TurnMetrics
from ..runtime.recording import TurnRecorder
from ..runtime.runtime import Runtime
from ..runtime.turn_services import TurnJournal
from ..views.session_views import SessionFacts, decode_waiting
from .admission import Admission
from .results import MessageBuilder

log = logging.getLogger(__name__)

#: Seconds after the agent's deadline in which its turn can still be returned or closed normally.
WRITE_GRACE_S = 5.0
#: Prefix of the journal key of an invalid output; the name of its agent follows.
REFUSED_ANSWER = "refused:"
#: Seconds between two attempts of a write; shorter than any lease, so that the lease does not expire in between.
PAUSE_S = 0.25

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn from its grant to its end, with everything that belongs to it."""

    facts: SessionFacts
    #: The session when the turn began.
    state: SessionState
    grant: Grant
    #: The newest messages of the dialog that the turn may see, oldest first.
    messages: tuple[Message, ...]
    planned: PlannedTurn
    policy: FailurePolicy
    #: The agent that has the turn.
    binding: AgentBinding
    #: Seconds that the agent may take.
    timeout_s: float
    task: TaskInfo
    journal: TurnJournal
    #: Recorder of the calls; None: the session does not record them.
    recorder: TurnRecorder | None
    #: The memory read by the turn; None in a session without memory.
    recall: RecalledMemory | None
    #: Reservations of the turn outside its session.
    admission: Admission
    #: `time.monotonic()` of the grant, in seconds.
    since: float

    @property
    def session_id(self) -> str:
        """Return the id of the turn's session."""
        return self.state.session_id

    @property
    def number(self) -> int:
        """Return the turn's number."""
        return self.grant.number

    @property
    def record(self) -> TurnRecord:
        """Return the record of the turn, as it was when the turn began."""
        return self.state.records[self.grant.number]

    @property
    def agent(self) -> str:
        """Return the name of the agent that has the turn."""
        return self.binding.agent

    @property
    def write_deadline(self) -> float:
        """Return the time, by `time.monotonic()`, until which writing the output is retried."""
        return self.since + self.timeout_s + WRITE_GRACE_S

    @property
    def waiting(self) -> ParkedQuestion | None:
        """Return the earlier questions and answers of this turn; None for nearly every turn."""
        record = self.record
        return decode_waiting(self.state, record) if record.wait else None

    def now(self) -> datetime:
        """Return the current time by the server's clock, because the worker's clock may be wrong by hours."""
        elapsed_s = time.monotonic() - self.since
        return datetime.fromtimestamp(self.state.now_ms / 1000 + elapsed_s, UTC)

    @property
    def own_usage(self) -> Usage:
        """Return the usage of this attempt, as reported by its agent. Raises RedisUnavailable."""
        return self.journal.accounts().get(self.grant.token, NO_USAGE)

    def message_builder(self) -> MessageBuilder:
        """Return the builder of the turn's messages and result. Raises RedisUnavailable."""
        grant = self.grant
        before = {**self.journal.accounts(), **self.record.spent, grant.token: NO_USAGE}
        spent = sum_usage(before.values())
        return MessageBuilder(
            self.facts, self.planned, grant.number, grant.token, grant.fence, self.waiting, spent
        )

    def refused_answer(self) -> TurnOutcome | None:
        """Return the invalid output that this agent gave in this turn, in this attempt or an earlier one.

        Raises:
            RedisUnavailable: Redis does not answer.
            CorruptSession: A stored record is invalid.
        """
        if not self.planned.output:
            return None
        text = self.journal.get_answer(REFUSED_ANSWER + self.agent)
        part = f"the refused answer of turn {self.number}"
        return None if text is None else read_stored(TurnOutcome, text, session_id=self.session_id, part=part)

    def store_refused_answer(self, outcome: TurnOutcome) -> None:
        """Store an invalid output with its usage, so that a later attempt only asks for the correction.

        The usage is an account of this attempt: whichever attempts report it, it is booked once.
        """
        spent = None if self.own_usage != NO_USAGE else outcome.usage
        self.journal.store_answer(REFUSED_ANSWER + self.agent, outcome.model_dump_json(), spent=spent)

    def asks_own_participant(self, outcome: TurnOutcome) -> bool:
        """Return whether the question of an answer goes to the turn's own participant."""
        question = outcome.question
        return question is not None and not question.call and question.to == self.planned.participant


def turn_timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    """Return the seconds that an agent may take."""
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s


def count_end(runtime: Runtime, turn: Turn, outcome: TurnOutcomeLabel, *, refused: str = "") -> None:
    """Count the end of an attempt; `refused`: the answer of the script, if it did not write this end."""
    metrics = TurnMetrics(runtime.ports.metrics, turn.facts.collab.mode)
    metrics.ended(TurnOutcomeLabel.REFUSED if refused else outcome, time.monotonic() - turn.since)
    if refused:
        metrics.refused(refused)


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
