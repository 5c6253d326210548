"""Conversion of a turn's outcome to what is written: dialog messages, and the result for planners. Pure.

Used for the output of an agent in a worker, and for late answers of a person or a remote system.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ...models.protocol.dialog import Message, build_turn_message
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import DraftMessage, OutcomeKind, TurnOutcome, TurnResult, Usage
from ...models.turns.waiting import ParkedQuestion
from ...state.sessions.requests import TurnOutput
from ..views.alignment import read_marks
from ..views.view import SessionFacts


@dataclass(frozen=True, slots=True)
class MessageBuilder:
    """The turn whose output is written, and the grant it is written under."""

    facts: SessionFacts
    planned: PlannedTurn
    number: int
    token: str
    fence: int
    #: Earlier questions and answers of this turn; None for nearly every turn.
    waiting: ParkedQuestion | None = None
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
            marks=self.facts.spec.stop.match_texts(texts, self.planned.participant),
            signs=read_marks(self.facts.spec.protocol, outcome),
            error=error,
        )

    def build_output(self, result: TurnResult, outcome: TurnOutcome, *, now: datetime) -> TurnOutput:
        """Return the turn as it is written, with its messages timestamped `now`."""
        return TurnOutput(
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

    def _message(self, speaker: str, draft: DraftMessage, now: datetime) -> Message:
        return build_turn_message(
            draft.role,
            draft.content,
            timestamp=now,
            participant_id=speaker,
            turn_number=self.number,
            token_id=self.token,
            fence=self.fence,
            trace_id=self.facts.session_id,
        )
