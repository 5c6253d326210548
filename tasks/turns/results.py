"""Results of a turn: messages of the dialog, result for planners, summary for monitors, output of the session. Pure.

In a session without a required output, this costs one comparison per turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from ...alignment.turn_format import read_marks
from ...models.errors import AgentError
from ...models.outputs import RequiredOutput
from ...models.protocol.dialog import Message, build_turn_message
from ...models.sessions.plan import PlannedTurn
from ...models.sessions.stop_conditions import StopReason
from ...models.text.redact import excerpt
from ...models.text.words import count_of
from ...models.turns.tool_uses import bounded_uses, with_tool_uses
from ...models.turns.turn import (
    Correction,
    Decision,
    DraftMessage,
    OutcomeKind,
    TurnContext,
    TurnOutcome,
    TurnResult,
    Usage,
)
from ...models.turns.waiting import Awaits, ParkedQuestion
from ...state.sessions.records import SessionState
from ...state.sessions.requests import JournalNote, TurnOutput
from ...state.sessions.turn_records import Accounts
from ..views.session_views import SessionFacts

#: Fields not stored in the record: event and plan have them.
_KNOWN = {"number", "participant", "kind", "usage", "left_out", "error", "item", "remember"}


def format_record(result: TurnResult) -> str:
    """Return the part of a result that only planners and stop conditions need, as JSON; empty: no such part."""
    text = result.model_dump_json(exclude=_KNOWN, exclude_defaults=True)
    return "" if text == "{}" else text


@dataclass(frozen=True, slots=True)
class MessageBuilder:
    """Builder of the messages and the result of a turn, under its grant."""

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
        self,
        kind: OutcomeKind,
        outcome: TurnOutcome | None = None,
        *,
        error: str | None = None,
        repeats: bool = False,
    ) -> TurnResult:
        """Return the result of this turn for planners and stop conditions."""
        outcome = outcome or TurnOutcome()
        texts = [draft.content for draft in outcome.messages]
        return TurnResult(
            number=self.number,
            participant=self.planned.participant,
            kind=kind,
            decision=without_answer(outcome.decision),
            hand_off=outcome.hand_off,
            items=outcome.items,
            item=self.planned.item,
            usage=self.spent + outcome.usage,
            has_output=has_valid_output(self.facts.spec.output, self.planned, outcome),
            left_out=outcome.left_out,
            asked_again=outcome.asked_again,
            cut_voices=outcome.cut_voices,
            marks=self.facts.spec.stop.match_texts(texts, self.planned.participant),
            signs=read_marks(self.facts.spec.protocol, outcome),
            error=error,
            repeats=repeats,
        )

    def build_output(
        self,
        result: TurnResult,
        outcome: TurnOutcome,
        *,
        now: datetime,
        others: Accounts = MappingProxyType({}),
        notes: tuple[JournalNote, ...] = (),
    ) -> TurnOutput:
        """Return the turn as it is written, with its messages timestamped `now`.

        Args:
            result: Result of the turn.
            outcome: Answer of its agent.
            now: Time of its messages.
            others: Usage of its other attempts.
            notes: Events that are written with it.
        """
        return TurnOutput(
            kind=result.kind,
            result=result.model_dump_json(exclude_defaults=True),
            record=format_record(result),
            usage=outcome.usage,
            left_out=result.left_out,
            error=result.error or "",
            messages=tuple(message.to_json() for message in self._messages(outcome, now)),
            others=others,
            notes=notes,
        )

    def _messages(self, outcome: TurnOutcome, now: datetime) -> Iterator[Message]:
        """Yield the messages: earlier questions and answers come first; the data is with the last message."""
        for line in self.waiting.lines if self.waiting else ():
            yield self._message(line.speaker, line.draft, now)
        last = len(outcome.messages) - 1
        for index, draft in enumerate(outcome.messages):
            message = self._message(self.planned.participant, draft, now)
            if index == last and outcome.output is not None:
                message = message.with_output(outcome.output)
            if index == last and outcome.cut is not None:
                message = message.with_cut(outcome.cut)
            if index == last and outcome.tool_uses:
                message = with_tool_uses(message, bounded_uses(outcome.tool_uses))
            yield message

    def _message(self, speaker: str, draft: DraftMessage, now: datetime) -> Message:
        message = build_turn_message(
            draft.role,
            draft.content,
            timestamp=now,
            participant_id=speaker,
            turn_number=self.number,
            token_id=self.token,
            fence=self.fence,
            trace_id=self.facts.session_id,
        )
        if speaker != self.planned.participant:
            message = message.as_answer_to(self.planned.participant)
        return message.with_attachments(draft.attachments) if draft.attachments else message


#: Maximum characters of an error shown.
MAX_ERROR = 200

#: Answers of `commit` after which the turn is written, or will be after a resume.
WRITTEN = ("committed", "held", "done")

#: Text for each effect of the last failure of a turn.
FAILURE_EFFECTS = {
    OutcomeKind.SKIPPED: "the turn is skipped",
    OutcomeKind.FAILED: "the session fails",
}

_MEANINGS = {
    "busy": "another worker runs this turn",
    "done": "already completed",
    "early": "not due yet",
    "exhausted": "budget exhausted",
    "gone": "already completed",
    "handed-on": "handed on to a worker with the agent",
    "inactive": "session is not active",
    "lost": "lease lost, output discarded",
    "missing": "session not found",
    "overdue": "session deadline passed",
    "short": "waiting for budget",
    "unknown": "unknown turn",
    "waiting": "parked: waiting for an answer",
}


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Result of one delivery of a turn.

    Attributes:
        word: Answer of the deciding script.
        summary: What happened; contains no dialog text and no secrets.
        failed: A failure exhausted the turn's attempts, or ended its session.
        retried: The attempt failed, and the turn is run again.
        awaits: Who the turn waits for; None: this delivery did not park it.
        then: Work after this delivery that does not belong to the turn itself: planning of the session's next
            step, or what is due for the parked turn.
        state: For this work: the session as the script left it; None: read it.
        exhausted: For planning: the budget that ends the session.
        outcome: Outcome of the attempt for traces; empty: `word`.
        error: Error of a failed attempt, without secrets; empty: it did not fail.
        raised: Error that the agent raised in this attempt; it may contain secrets.
    """

    word: str
    summary: str = ""
    failed: bool = False
    retried: bool = False
    awaits: Awaits | None = None
    then: Literal["", "plan", "wake"] = ""
    state: SessionState | None = None
    exhausted: StopReason | None = None
    outcome: str = ""
    error: str = ""
    raised: AgentError | None = None

    @property
    def text(self) -> str:
        """Return the text for monitors."""
        return self.summary or _MEANINGS.get(self.word, self.word)


def summarize_commit(word: str, kind: OutcomeKind, outcome: TurnOutcome) -> TurnEnd:
    """Return the end of a turn whose commit answered `word`."""
    summary, outcome_name = _describe_outcome(kind, outcome), kind.value
    if word == "held":
        summary, outcome_name = f"held until the session is resumed: {summary}", "held"
    elif word not in WRITTEN:
        summary, outcome_name = f"discarded ({word}): {summary}", "discarded"
    return TurnEnd(word, summary, outcome=outcome_name)


def _describe_outcome(kind: OutcomeKind, outcome: TurnOutcome) -> str:
    summary = str(kind)
    if kind is OutcomeKind.MESSAGE:
        summary = f"said {count_of(sum(len(draft.content) for draft in outcome.messages), 'character')}"
    elif outcome.decision or outcome.hand_off or outcome.items:
        summary = "decided"
    tokens = outcome.usage.tokens
    return f"{summary}, {count_of(tokens, 'token')}" if tokens else summary


def summarize_failure(
    word: str, error: str, then: str, *, is_last: bool, kind: OutcomeKind = OutcomeKind.FAILED
) -> TurnEnd:
    """Return the end of an attempt that failed; `then`: what happens next."""
    return TurnEnd(word, f"{_failure(error)}; {then}", failed=is_last, outcome=kind.value, error=error)


def summarize_return(word: str, error: str, then: str, *, is_last: bool = False) -> TurnEnd:
    """Return the end of a failed attempt whose `fail` answered `word`.

    `then`: next action if the turn was returned.
    """
    if word != "retried":
        return TurnEnd(word, f"discarded ({word}): {_failure(error)}", outcome="discarded", error=error)
    end = summarize_failure(word, error, then, is_last=is_last)
    return replace(end, retried=not is_last)


def _failure(error: str) -> str:
    return f"failed: {excerpt(error, MAX_ERROR)}"


#: Maximum characters of a refused answer repeated to its agent, and of the faults in an error.
_MAX_SHOWN = 20_000
_MAX_FAULTS = 400


def read_output(rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with the data that its text contains, if the data is a valid output.

    In a turn that must give the output, invalid data is kept, too. The answer of an orchestrator is its message.
    """
    outcome = with_answer(outcome)
    if rule is None or outcome.question or not _may_give(rule, planned):
        return outcome
    read, faults = rule.read(outcome)
    return outcome if faults and not planned.output else read


def with_answer(outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome; if its decision answers the task, the answer is its last message."""
    decision = outcome.decision
    if decision is None or not decision.satisfied or not decision.answer.strip():
        return outcome
    *before, last = outcome.messages or (DraftMessage(content=decision.answer),)
    answer = last.model_copy(update={"content": decision.answer})
    return outcome.model_copy(update={"messages": (*before, answer)})


def without_answer(decision: Decision | None) -> Decision | None:
    """Return a decision without its answer, which the dialog has: the results of turns are small."""
    return decision and decision.model_copy(update={"answer": ""})


def find_output_faults(
    rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome
) -> tuple[str, ...]:
    """Return what is wrong with the output of a turn that must give it; empty: nothing, or it need not."""
    if rule is None or not planned.output or outcome.question:
        return ()
    return rule.read(outcome)[1]


def has_valid_output(rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome) -> bool:
    """Return whether the data of a turn is valid as the output of the session."""
    if rule is None or outcome.output is None or not _may_give(rule, planned):
        return False
    return not rule.find_faults(outcome.output)


def _may_give(rule: RequiredOutput, planned: PlannedTurn) -> bool:
    """Return whether a turn may give the output; a closing turn may replace that of a participant who has left."""
    return planned.output or rule.may_come_from(planned.participant)


def ask_for_correction(context: TurnContext, outcome: TurnOutcome, faults: tuple[str, ...]) -> TurnContext:
    """Return the context in which the agent is asked for the output again, with the faults of its answer."""
    answer = "\n\n".join(draft.content for draft in outcome.messages)[:_MAX_SHOWN]
    listed = "\n".join(f"- {fault}" for fault in faults)
    return context.asked_again(
        Correction(fault=f"it is not valid under the JSON schema:\n{listed}", answer=answer),
        f"Your answer is not valid under the required JSON schema:\n{listed}",
        f"Answer again, with the whole result. Your answer was:\n\n{answer or 'PASS'}",
    )


def describe_faults(faults: tuple[str, ...]) -> str:
    """Return the faults of an output in one line, for an error."""
    return f"must be valid under the JSON schema of the session's output: {'; '.join(faults)}"[:_MAX_FAULTS]
