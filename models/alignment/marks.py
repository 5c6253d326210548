"""The marks of one turn of an alignment session that a ledger needs: small, however long the text is."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: Markers of one turn that count, and characters of a label that are kept.
MAX_MARKS, LONGEST_LABEL = 64, 120

#: The highest score there is.
MOST_SCORED = 1_000

_Score = Annotated[int, Field(strict=True, ge=0, le=MOST_SCORED)]
_Label = Annotated[str, Field(max_length=LONGEST_LABEL)]


class LedgerValue(BaseModel):
    """Base of these values: immutable, closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Scores(LedgerValue):
    """The judge's scores for one expert; their total is computed, never given."""

    wisdom: _Score = 0
    consistency: _Score = 0
    truth: _Score = 0
    relationships: _Score = 0

    @property
    def total(self) -> int:
        """The sum of the four."""
        return self.wisdom + self.consistency + self.truth + self.relationships


class TurnMark(LedgerValue):
    """One marker: its type, its ids as written (`T01`, `MUFFIN R1-T01`), and its label."""

    kind: str
    refs: tuple[str, ...] = Field(default=(), max_length=100)
    label: _Label = ""


class TurnMarks(LedgerValue):
    """All signs of a turn."""

    said: tuple[TurnMark, ...] = Field(default=(), max_length=MAX_MARKS)
    #: The expert has nothing left to discuss, without a condition.
    converges: bool = False
    #: Participant id, or any name of one -> the judge's scores.
    scores: dict[str, Scores] = Field(default_factory=dict, max_length=1_000)
