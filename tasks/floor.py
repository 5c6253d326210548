"""A granted turn in the hands of the worker that speaks it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from ..models.options import FailurePolicy
from ..models.plan import PlannedTurn
from ..models.turn import Usage
from ..models.waiting import Waiting
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
        grant = self.grant
        return Words(self.facts, self.planned, grant.number, grant.token, grant.fence, self.waiting)

    @property
    def waiting(self) -> Waiting | None:
        """What was asked and answered in this turn before; None for nearly every turn."""
        record = self.state.records[self.grant.number]
        return turn_wait(self.state, record) if record.wait else None

    @property
    def spent_lately(self) -> Usage:
        """What attempts have spent that did not end in a question; `waiting` has the rest."""
        waiting = self.waiting
        return self.desk.spent(answers=len(waiting.answers) if waiting else 0)

    @property
    def spent(self) -> Usage:
        """What all attempts have spent, those that ended in a question included."""
        waiting = self.waiting
        return self.spent_lately if waiting is None else waiting.usage + self.spent_lately


def patience_until(runtime: Runtime, floor: Floor) -> float:
    """When to give up writing what was said, by `time.monotonic()`."""
    return floor.since + turn_timeout_s(runtime, floor.policy) + SETTLE_S


def turn_timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    """Seconds an agent may speak."""
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s
