"""One time that was due: what it is called, how far it is, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ..ids import Id, derived_id
from ..turn import Frozen, Usage


class Outcome(StrEnum):
    """How an occurrence ended."""

    COMPLETED = "completed"
    #: It was done, and found what matters as much as the schedule says.
    FINDINGS = "findings"
    #: Some of it failed, or a limit was met.
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: An earlier one was not done.
    SKIPPED = "skipped"
    #: Nobody could see to it while it was due.
    MISSED = "missed"


class Occurrence(Frozen):
    """A time that was claimed, or asked for by hand."""

    #: The same for the same schedule and time, so what is started under it is started once.
    id: Id
    due_ms: int
    #: Asked for by hand, at that time.
    by_hand: bool = False
    claimed_ms: int = 0
    #: What it does was begun, by the clock of the server; 0: not yet.
    started_ms: int = 0
    #: What was begun (`Schedule.kind`): the schedule may have been replaced since; empty: not yet.
    kind: str = ""


class Record(Frozen):
    """An occurrence in the history, newest first there."""

    id: Id
    due_ms: int
    by_hand: bool = False
    outcome: Outcome
    started_ms: int = 0
    ended_ms: int
    usage: Usage = Usage()
    #: What came of it, or why it did not come to anything; one line.
    detail: Annotated[str, Field(max_length=500)] = ""

    @property
    def duration_s(self) -> float:
        """From its beginning to its end; 0 for what never began."""
        return (self.ended_ms - self.started_ms) / 1000 if self.started_ms else 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far what an occurrence does has come; `outcome` is None while it goes on."""

    outcome: Outcome | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    detail: str = ""
    #: When it ended, by the clock of the server; 0: when that was seen.
    ended_ms: int = 0


def occurrence_id(schedule: str, origin_ms: int, due_ms: int, *, by_hand: str = "") -> str:
    """The id of the occurrence of a schedule, added at `origin_ms`, that is due at `due_ms`.

    `by_hand`: an id of the request, where somebody asked for it: two may ask in the same millisecond.
    """
    return derived_id(f"{schedule}|{origin_ms}|{due_ms}|{by_hand}")
