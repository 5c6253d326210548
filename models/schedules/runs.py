"""One due time of a schedule: its id, progress and result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..text.ids import Id, derived_id
from ..turns.turn import Frozen, Usage


class RunOutcome(StrEnum):
    """Outcome of a schedule run."""

    COMPLETED = "completed"
    #: It was done, and found what matters as much as the schedule says.
    FINDINGS = "findings"
    #: Some of it failed, or a limit was met.
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: An earlier one was not done.
    SKIPPED = "skipped"
    #: Missed: no worker was running while it was due.
    MISSED = "missed"


class ScheduleRun(Frozen):
    """A time that was claimed, or asked for by hand."""

    #: The same for the same schedule and time, so what is started under it is started once.
    id: Id
    due_ms: int
    #: Asked for by hand, at that time.
    by_hand: bool = False
    claimed_ms: int = 0
    #: Start of its action, by the clock of the server; 0: not started.
    started_ms: int = 0
    #: Kind of the started action (`Schedule.kind`): the schedule may have been replaced since; empty: not started.
    kind: str = ""


class ScheduleRunRecord(Frozen):
    """An occurrence in the history, newest first there."""

    id: Id
    due_ms: int
    by_hand: bool = False
    outcome: RunOutcome
    started_ms: int = 0
    ended_ms: int
    usage: Usage = Usage()
    #: Result, or the reason for no result; one line.
    detail: Annotated[str, Field(max_length=500)] = ""

    @property
    def duration_s(self) -> float:
        """From its beginning to its end; 0 for what never began."""
        return (self.ended_ms - self.started_ms) / 1000 if self.started_ms else 0.0


@dataclass(frozen=True, slots=True)
class ScheduleRunProgress:
    """Progress of an occurrence; `outcome` is None while it runs."""

    outcome: RunOutcome | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    detail: str = ""
    #: When it ended, by the clock of the server; 0: when that was seen.
    ended_ms: int = 0


def schedule_run_id(schedule: str, origin_ms: int, due_ms: int, *, by_hand: str = "") -> str:
    """Return the id of the occurrence of a schedule, added at `origin_ms`, that is due at `due_ms`.

    `by_hand`: id of the request of a manual run: two may be requested in the same millisecond.
    """
    return derived_id(f"{schedule}|{origin_ms}|{due_ms}|{by_hand}")
