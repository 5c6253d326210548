"""Forms of structured output, and their conversion to turn outcomes.

A decision is also written as a message, in the words of a model without structured output, so that the
dialog reads the same for every orchestrator. The models get the docstrings of these classes as descriptions.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from ...models.alignment.marks import Scores
from ...models.turns.turn import Decision, DraftMessage, TurnOutcome, Usage


class NextSpeaker(BaseModel):
    """Someone who speaks next."""

    name: str = Field(description="participant id")
    instruction: str = Field(default="", max_length=8_000, description="what this participant should do")


class DecisionForm(BaseModel):
    """Who speaks next, or that the purpose is reached."""

    satisfied: bool = Field(description="true: the purpose is reached, no one needs to speak")
    progress: bool = Field(default=True, description="false: no progress since the last decision")
    next: list[NextSpeaker] = Field(default=[], description="who speaks next, in order")
    side_by_side: bool = Field(default=False, description="true: they speak at once, not one after the other")
    reason: str = Field(default="", max_length=2_000, description="why, in one sentence")

    def to_decision(self) -> Decision:
        """Return the decision."""
        return Decision(
            satisfied=self.satisfied,
            progress=self.progress,
            next=tuple(speaker.name for speaker in self.next),
            side_by_side=self.side_by_side,
            instructions={s.name: s.instruction for s in self.next if s.instruction},
            reason=self.reason,
        )

    def to_outcome(self, usage: Usage) -> TurnOutcome:
        """Return the outcome: the decision, and a message with its text."""
        decision = self.to_decision()
        return TurnOutcome(messages=(DraftMessage(content=_words(decision)),), decision=decision, usage=usage)


class ExpertScores(Scores):
    """One expert's scores."""

    name: str = Field(description="participant id")


class JudgeForm(DecisionForm):
    """Who speaks next, and how far each expert has helped the panel to agree."""

    scores: list[ExpertScores] = Field(
        default=[], description="for each expert who has spoken, four scores; totals are computed"
    )

    def to_decision(self) -> Decision:
        """Return the decision with the scores."""
        scores = {it.name[:1_000]: Scores(**it.model_dump(exclude={"name"})) for it in self.scores}
        return super().to_decision().model_copy(update={"scores": scores})


class ReviewForm(BaseModel):
    """The verdict on a partner's work."""

    approved: bool = Field(description="true: the work is good as it is")
    comment: str = Field(min_length=1, description="why it is good, or what to fix")

    def to_outcome(self, usage: Usage) -> TurnOutcome:
        """Return the outcome: the verdict, and a message with its text."""
        words = f"APPROVED: {self.comment}" if self.approved else self.comment
        decision = Decision(satisfied=self.approved, reason=self.comment[:2_000])
        return TurnOutcome(messages=(DraftMessage(content=words),), decision=decision, usage=usage)


def _words(decision: Decision) -> str:
    if decision.satisfied:
        return f"DONE: {decision.reason}".strip()
    lines = [] if decision.progress else [f"STALLED: {decision.reason}"]
    if decision.next:
        lines.append(f"{'TOGETHER' if decision.side_by_side else 'NEXT'}: {', '.join(decision.next)}")
    lines += [f"INSTRUCTION {name}: {text}" for name, text in decision.instructions.items()]
    return "\n".join(lines) or "NEXT: nobody"
