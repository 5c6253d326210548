"""What a turn's outcome becomes when it is written: dialog messages, and the result that planners see. Pure.

The same for words that an agent said in a worker's hands and for those that a person or a
remote system answered long after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ..models.dialog import Message, said
from ..models.plan import PlannedTurn
from ..models.turn import Draft, OutcomeKind, TurnOutcome, TurnResult, Usage
from ..models.waiting import Waiting
from ..state.requests import Speech
from .protocol import signs_of
from .view import SessionFacts


@dataclass(frozen=True, slots=True)
class Words:
    """The turn whose words are written, and the grant they are written under."""

    facts: SessionFacts
    planned: PlannedTurn
    number: int
    token: str
    fence: int
    #: What was asked and answered in this turn before; None for nearly every turn.
    waiting: Waiting | None = None
    #: What other attempts of this turn have spent.
    spent: Usage = field(default_factory=Usage)

    def result(
        self, kind: OutcomeKind, outcome: TurnOutcome | None = None, *, error: str | None = None
    ) -> TurnResult:
        """What planners and stop conditions will know of this turn."""
        outcome = outcome or TurnOutcome()
        texts = [draft.content for draft in outcome.messages]
        return TurnResult(
            number=self.number,
            participant=self.planned.participant,
            kind=kind,
            decision=outcome.decision,
            hand_off=outcome.hand_off,
            items=outcome.items,
            item=self.planned.item,
            usage=self.spent + outcome.usage,
            left_out=outcome.left_out,
            marks=self.facts.spec.stop.marks(texts, self.planned.participant),
            signs=signs_of(self.facts.spec.protocol, outcome),
            error=error,
        )

    def speech(self, result: TurnResult, outcome: TurnOutcome, *, now: datetime) -> Speech:
        """The turn as it is written, its messages stamped with `now`."""
        return Speech(
            kind=result.kind,
            result=result.model_dump_json(exclude_defaults=True),
            usage=outcome.usage,
            left_out=result.left_out,
            error=result.error or "",
            messages=tuple(message.to_json() for message in self._messages(outcome, now)),
        )

    def _messages(self, outcome: TurnOutcome, now: datetime) -> Iterator[Message]:
        """What was asked and answered comes before the words of the turn itself."""
        for line in self.waiting.lines if self.waiting else ():
            yield self._message(line.speaker, line.draft, now)
        for draft in outcome.messages:
            yield self._message(self.planned.participant, draft, now)

    def _message(self, speaker: str, draft: Draft, now: datetime) -> Message:
        return said(
            draft.role,
            draft.content,
            timestamp=now,
            participant_id=speaker,
            turn_number=self.number,
            token_id=self.token,
            fence=self.fence,
            trace_id=self.facts.session_id,
        )
