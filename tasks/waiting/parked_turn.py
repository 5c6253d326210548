"""A parked turn: its question, and the result of an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from ...models.directives import read_directives
from ...models.protocol.collab import ParticipantKind
from ...models.protocol.dialog import Role
from ...models.sessions.plan import PlannedTurn
from ...models.text.ids import moment_from_ms, new_id
from ...models.turns.turn import DraftMessage, GivenAnswer, OutcomeKind, PanelAnswer, TurnContext, TurnOutcome
from ...models.turns.waiting import AddedMessage, ParkedQuestion, Pending, Verdict
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.turn_records import Accounts, Parking, TurnRecord, sum_usage
from ...state.turns.parked import InboxEntry, Reply, ReplyRule
from ..turns.results import MessageBuilder, find_output_faults, read_output
from ..views.session_views import SessionFacts, decode_planned_turn, decode_waiting
from ..views.turn_context import turn_context


@dataclass(frozen=True, slots=True)
class ParkedTurn:
    """A parked turn, with its open question."""

    facts: SessionFacts
    state: SessionState
    record: TurnRecord
    parking: Parking
    waiting: ParkedQuestion
    #: The turn as it was planned.
    planned: PlannedTurn
    #: Usage of the sub-session that answers, by its id.
    child_usage: Accounts = field(default_factory=dict)
    #: Newest messages of the participants of its sub-session, and why that session ended.
    child_answers: tuple[PanelAnswer, ...] = ()
    child_ended: str = ""

    @property
    def number(self) -> int:
        """Return the turn's number."""
        return self.record.number

    def inbox_entries(self) -> tuple[InboxEntry, ...]:
        """Return the question as entries for the inboxes of the people who may answer."""
        return tuple(InboxEntry(self.facts.session_id, self.number, name) for name in self.waiting.asked)

    def pending(self) -> Pending:
        """Return the question for display to people."""
        until_ms = self.parking.until_ms
        return Pending(
            session_id=self.facts.session_id,
            title=self.facts.collab.title,
            turn_number=self.number,
            participant=self.record.participant,
            asked=self.waiting.asked,
            question=self.waiting.question,
            is_own=self.waiting.is_own,
            expects=self.planned.expects,
            reply_token=self.parking.reply_token,
            asked_at=moment_from_ms(self.parking.parked_ms),
            until=None if until_ms is None else moment_from_ms(until_ms),
        )

    # -- answers ---------------------------------------------------------------------------

    def build_answer(
        self,
        text: str | None,
        *,
        by: str | None,
        rule: ReplyRule = ReplyRule.PERSON,
        output: JsonValue = None,
        error: str = "",
    ) -> Reply:
        """Return the reply of an answer: output of the turn, or input for its agent.

        Args:
            text: The answer; None: there is none.
            by: Who answers.
            rule: Source of the answer.
            output: Data beside the text, of a sub-session.
            error: Why a sub-session gave no answer to its agent.
        """
        if not self.waiting.is_own:
            return self._build_continuation(text, by=by, rule=rule, output=output, error=error)
        if text is None:
            return self.build_closing(OutcomeKind.SKIPPED, error="no answer in time", rule=rule)
        answer = TurnOutcome(messages=(self._draft(text),), output=output)
        outcome = read_directives(self._context(), answer)
        outcome = answer if outcome.question else outcome  # the person who was asked cannot ask a question
        outcome = read_output(self.facts.spec.output, self.planned, outcome)
        kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
        return self.build_closing(kind, outcome, by=by, rule=rule)

    def find_output_faults(self, text: str, output: JsonValue = None) -> tuple[str, ...]:
        """Return what is wrong with an answer as the output of the session; empty: nothing, or it need not be.

        Args:
            text: The answer.
            output: Data beside the text, of a sub-session.
        """
        if not self.waiting.is_own:
            return ()
        answer = TurnOutcome(messages=(self._draft(text),), output=output)
        return find_output_faults(self.facts.spec.output, self.planned, answer)

    def build_closing(
        self,
        kind: OutcomeKind,
        outcome: TurnOutcome | None = None,
        *,
        rule: ReplyRule,
        by: str | None = None,
        error: str | None = None,
    ) -> Reply:
        """Return the reply that closes the turn."""
        grant = self._grant()
        spent = sum_usage({**self.record.spent, **self.child_usage}.values())
        builder = MessageBuilder(
            self.facts, self.planned, grant.number, grant.token, grant.fence, self.waiting, spent
        )
        result = builder.result(kind, outcome, error=error)
        turn_output = builder.build_output(
            result, outcome or TurnOutcome(), now=moment_from_ms(self.state.now_ms)
        )
        return Reply(
            number=self.number,
            reply_token=self.parking.reply_token,
            request=new_id(),
            rule=rule,
            speech=turn_output,
            about={"by": by or "", "outcome": kind.value},
            spent=self.child_usage,
        )

    def build_reassignment(self, agent: str, *, outcome: str, rule: ReplyRule, error: str = "") -> Reply:
        """Return the reply that passes the turn to another agent."""
        waiting = self.waiting.model_copy(
            update={
                "passed_on": self.waiting.passed_on + 1,
                "delivery": None,
                "child": None,
                "escalated": False,
            }
        )
        return self._build_return(waiting, rule=rule, agent=agent, outcome=outcome, error=error)

    def build_resumption(self) -> Reply:
        """Return the reply that returns the turn to the workers: the provider's batch has ended."""
        waiting = self.waiting.model_copy(update={"batch_checks": None})
        return self._build_return(waiting, rule=ReplyRule.CHILD, outcome="asked")

    def _build_continuation(
        self, text: str | None, *, by: str | None, rule: ReplyRule, output: JsonValue, error: str
    ) -> Reply:
        if self.waiting.is_for_guard:
            decision_text = (
                text if rule is ReplyRule.PERSON else None
            )  # a default answer is no decision of a person
            return self._build_return(self._decided(decision_text, by=by), rule=rule, outcome="asked", by=by)
        child = self.waiting.child
        answer = GivenAnswer(
            question=self.waiting.question,
            text=text,
            by=by,
            session_id=child.session_id if child else None,
            output=output,
            error=error or None,
            answers=self.child_answers,
            ended=self.child_ended,
        )
        waiting = self.waiting.model_copy(
            update={
                "answers": (*self.waiting.answers, answer),
                "lines": (*self.waiting.lines, *self._lines(answer)),
                "child": None,
                "escalated": False,
            }
        )
        reply = self._build_return(waiting, rule=rule, outcome="asked", by=by)
        if not answer.question.is_for_approval:
            return reply
        decision = {"tool": answer.question.tool, "decision": Verdict.of(text).value}
        return replace(reply, about={**reply.about, **decision})

    def _decided(self, text: str | None, *, by: str | None) -> ParkedQuestion:
        """Return the question with the decision about what a guard holds."""
        hold = self.waiting.hold
        assert hold is not None  # noqa: S101 - the caller has checked it
        decided = hold.model_copy(update={"verdict": Verdict.of(text), "by": by})
        return self.waiting.model_copy(update={"hold": decided, "escalated": False})

    def _build_return(
        self,
        waiting: ParkedQuestion,
        *,
        rule: ReplyRule,
        outcome: str,
        agent: str = "",
        error: str = "",
        by: str | None = None,
    ) -> Reply:
        return Reply(
            number=self.number,
            reply_token=self.parking.reply_token,
            request=new_id(),
            rule=rule,
            wait=waiting.model_dump_json(exclude_defaults=True),
            agent=agent,
            outcome=outcome,
            error=error,
            about={"by": by or "", "outcome": outcome},
            spent=self.child_usage,
        )

    def _lines(self, answer: GivenAnswer) -> Iterator[AddedMessage]:
        """Yield question and answer as lines of the dialog; those of a session or a tool call are none."""
        question = answer.question
        if question.session is not None or question.call:
            return
        if question.text.strip():
            yield AddedMessage(speaker=self.record.participant, draft=DraftMessage(content=question.text))
        if answer.text is not None:
            is_known = answer.by in self.facts.roster or answer.by in self.facts.people
            speaker = answer.by if answer.by is not None and is_known else question.to
            yield AddedMessage(speaker=speaker, draft=DraftMessage(content=answer.text, role=Role.USER))

    def _draft(self, text: str) -> DraftMessage:
        is_person = self.facts.roster[self.record.participant].kind is ParticipantKind.HUMAN
        return DraftMessage(content=text, role=Role.USER if is_person else Role.AGENT)

    def _context(self) -> TurnContext:
        return turn_context(self.facts, self.state, self._grant(), self.planned, (), window=0, timeout_s=0)

    def _grant(self) -> Grant:
        """Return the open grant, under which the answer is written."""
        record = self.record
        return Grant(
            number=record.number,
            scope=record.scope,
            token=record.token or "",
            fence=record.fence,
            grants=record.grants,
            failures=record.failures,
            takeovers=0,
            substitute=record.agent,
            messages=(),
        )


def read_question(facts: SessionFacts, state: SessionState, number: int) -> ParkedTurn | None:
    """Return the open question of one turn; None: it is not parked.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    record = state.records.get(number)
    if record is None or record.parking is None:
        return None
    planned = decode_planned_turn(state, record, facts.roster)
    return ParkedTurn(facts, state, record, record.parking, decode_waiting(state, record), planned)


def read_all_questions(facts: SessionFacts, state: SessionState) -> list[ParkedTurn]:
    """Return the session's open questions, by turn number."""
    questions = (read_question(facts, state, number) for number in state.records)
    return [parked for parked in questions if parked is not None]
