"""Marks of one turn of an alignment session: the data that a ledger needs, independent of the text's length."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: Maximum number of markers of one turn, and maximum characters of a label.
MAX_MARKS, MAX_LABEL = 64, 120

#: Maximum score.
MAX_SCORED = 1_000

_Score = Annotated[int, Field(strict=True, ge=0, le=MAX_SCORED)]
_Label = Annotated[str, Field(max_length=MAX_LABEL)]


class LedgerValue(BaseModel):
    """Base of these values: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Scores(LedgerValue):
    """The judge's scores for one expert; their total is always computed."""

    wisdom: _Score = 0
    consistency: _Score = 0
    truth: _Score = 0
    relationships: _Score = 0

    @property
    def total(self) -> int:
        """Sum of the four scores."""
        return self.wisdom + self.consistency + self.truth + self.relationships


class TurnMark(LedgerValue):
    """One marker: its type, its ids as written (`T01`, `MUFFIN R1-T01`), and its label."""

    kind: str
    refs: tuple[str, ...] = Field(default=(), max_length=100)
    label: _Label = ""


class TurnMarks(LedgerValue):
    """All marks of a turn."""

    said: tuple[TurnMark, ...] = Field(default=(), max_length=MAX_MARKS)
    #: True: the expert has nothing more to discuss, without a condition.
    converges: bool = False
    #: Participant id or another name of the participant -> the judge's scores.
    scores: dict[str, Scores] = Field(default_factory=dict, max_length=1_000)
