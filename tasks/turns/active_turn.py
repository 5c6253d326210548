"""A granted turn in the worker that runs it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from ...models.sessions.options import FailurePolicy
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import Usage
from ...models.turns.waiting import ParkedQuestion
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.usage_accounts import sum_usage
from ..runtime.memory import RecalledMemory
from ..runtime.runtime import Runtime
from ..runtime.turn_services import GrantServices
from ..views.decode import decode_waiting
from ..views.view import SessionFacts
from .admission import Admission
from .message_builder import MessageBuilder

#: Seconds after the agent's deadline in which its turn can still be returned or closed regularly.
WRITE_GRACE_S = 5.0


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
    #: `time.monotonic()` when the grant was taken.
    since: float
    #: Reservations of the turn outside its session.
    admission: Admission
    #: The memory read by the turn; None in a session without memory.
    recalled_memory: RecalledMemory | None = None

    @property
    def session_id(self) -> str:
        """Return the id of the turn's session."""
        return self.facts.session_id

    def now(self) -> datetime:
        """Return the current time by the server's clock: the worker's own may be wrong by hours."""
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

    def accounts(self) -> dict[str, Usage]:
        """Return the usage of all attempts, as reported by their agents: this one and earlier ones. Raises RedisUnavailable."""
        return self.services.accounts()

    @property
    def own_usage(self) -> Usage:
        """Return the usage of this attempt, as reported by its agent."""
        return self.accounts().get(self.grant.token, Usage())


def write_deadline(runtime: Runtime, floor: ActiveTurn) -> float:
    """Return the time, by `time.monotonic()`, until which writing the output is retried."""
    return floor.since + turn_timeout_s(runtime, floor.policy) + WRITE_GRACE_S


def turn_timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    """Return the seconds that an agent may take."""
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s
