"""A granted turn in the hands of the worker that speaks it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from ..models.options import FailurePolicy
from ..models.plan import PlannedTurn
from ..models.turn import Usage
from ..models.waiting import Waiting
from ..state.accounts import total
from ..state.records import Grant, SessionState
from .admission import Admission
from .desks import TurnDesk
from .memory import Recollection
from .runtime import Runtime
from .turn_parts import turn_wait
from .view import SessionFacts
from .words import Words

#: Seconds after the agent's deadline in which its turn can still be given back or closed in order.
SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Floor:
    """A granted turn and all that belongs to it."""

    facts: SessionFacts
    state: SessionState
    grant: Grant
    planned: PlannedTurn
    policy: FailurePolicy
    task_id: str
    desk: TurnDesk
    #: `time.monotonic()` when the grant was taken.
    since: float
    #: What was set aside for it outside its session.
    admission: Admission
    #: What is remembered; None in a session without memory.
    recalled: Recollection | None = None

    @property
    def session_id(self) -> str:
        """The session this turn belongs to."""
        return self.facts.session_id

    def now(self) -> datetime:
        """Now by the server's clock: the worker's own may be off by hours."""
        elapsed_s = time.monotonic() - self.since
        return datetime.fromtimestamp(self.state.now_ms / 1000 + elapsed_s, UTC)

    @property
    def words(self) -> Words:
        """What turns an outcome into what is written."""
        grant, record = self.grant, self.state.records[self.grant.number]
        before = {**self.accounts(), **record.spent, grant.token: Usage()}
        return Words(
            self.facts,
            self.planned,
            grant.number,
            grant.token,
            grant.fence,
            self.waiting,
            total(before.values()),
        )

    @property
    def waiting(self) -> Waiting | None:
        """What was asked and answered in this turn before; None for nearly every turn."""
        record = self.state.records[self.grant.number]
        return turn_wait(self.state, record) if record.wait else None

    def accounts(self) -> dict[str, Usage]:
        """What attempts have spent, as their agents have told: this one, and those it has found. Raises RedisUnavailable."""
        return self.desk.accounts()

    @property
    def own(self) -> Usage:
        """What this attempt has spent, as its agent has told."""
        return self.accounts().get(self.grant.token, Usage())


def patience_until(runtime: Runtime, floor: Floor) -> float:
    """When to give up writing what was said, by `time.monotonic()`."""
    return floor.since + turn_timeout_s(runtime, floor.policy) + SETTLE_S


def turn_timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    """Seconds an agent may speak."""
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s
