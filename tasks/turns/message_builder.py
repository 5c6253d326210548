"""Conversion of a turn's outcome to what is written: dialog messages, and the result for planners. Pure.

Used for the output of an agent in a worker, and for late answers of a person or a remote system.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ...models.protocol.dialog import Message, said
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import Draft, OutcomeKind, TurnOutcome, TurnResult, Usage
from ...models.turns.waiting import Waiting
from ...state.sessions.requests import Speech
from ..views.alignment import signs_of
from ..views.view import SessionFacts


@dataclass(frozen=True, slots=True)
class Words:
    """The turn whose output is written, and the grant it is written under."""

    facts: SessionFacts
    planned: PlannedTurn
    number: int
    token: str
    fence: int
    #: Earlier questions and answers of this turn; None for nearly every turn.
    waiting: Waiting | None = None
    #: Usage of other attempts of this turn.
    spent: Usage = field(default_factory=Usage)

    def result(
        self, kind: OutcomeKind, outcome: TurnOutcome | None = None, *, error: str | None = None
    ) -> TurnResult:
        """Return the result of this turn for planners and stop conditions."""
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
        """Return the turn as it is written, with its messages timestamped `now`."""
        return Speech(
            kind=result.kind,
            result=result.model_dump_json(exclude_defaults=True),
            usage=outcome.usage,
            left_out=result.left_out,
            error=result.error or "",
            messages=tuple(message.to_json() for message in self._messages(outcome, now)),
        )

    def _messages(self, outcome: TurnOutcome, now: datetime) -> Iterator[Message]:
        """Yield the messages: earlier questions and answers come before the output of the turn itself."""
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
