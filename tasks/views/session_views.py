"""Views of a session for planners and agents, built from its state in Redis. Pure.

This module parses the parts of a turn that scripts do not decode: plan, result, question.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeVar

from ...alignment.turn_format import add_format_instruction
from ...models.errors import CorruptSession, InvalidInput
from ...models.memory.recall import MemoryView
from ...models.modes import mode_of
from ...models.protocol.collab import Collab, Participant
from ...models.protocol.dialog import Message
from ...models.sessions.plan import OpenTurn, PlannedTurn, SessionView, Totals
from ...models.sessions.spec import SessionSpec
from ...models.turns.asked_people import people_of
from ...models.turns.decision_ledger import DecisionLedger
from ...models.turns.turn import (
    REVIEW_PARAMETER,
    Expects,
    OutcomeKind,
    RemainingBudget,
    TurnContext,
    TurnResult,
    Usage,
)
from ...models.turns.waiting import ParkedQuestion
from ...state.redis.readers import converting_to_corrupt, read_all_stored, read_object, read_stored
from ...state.sessions.records import Grant, SessionState
from ...state.sessions.steering import SessionDocuments
from ...state.sessions.turn_records import TurnRecord, sum_usage

T = TypeVar("T")


def decode_planned_turn(state: SessionState, record: TurnRecord, roster: Container[str]) -> PlannedTurn:
    """Return an open turn as planned, for a participant of the roster.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    part = f"the plan of turn {record.number}"
    with converting_to_corrupt(state.session_id, part):
        planned = _read_planned_turn(record.plan or "{}")
    if planned.participant != record.participant or planned.participant not in roster:
        rule = f"must be {record.participant!r}, the turn's participant, and in the roster"
        whose = InvalidInput("participant", planned.participant, rule)
        raise CorruptSession(state.session_id, part=part, detail=str(whose))
    return planned


# Most plans of a session differ in nothing, and those of its open turns are read again for each plan.
@lru_cache(maxsize=1_024)
def _read_planned_turn(text: str) -> PlannedTurn:
    return PlannedTurn.model_validate_json(text)


def decode_turn_result(state: SessionState, record: TurnRecord) -> TurnResult:
    """Return the result of a closed turn.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    part = f"the result of turn {record.number}"
    return read_stored(TurnResult, record.result or "{}", session_id=state.session_id, part=part)


def decode_waiting(state: SessionState, record: TurnRecord) -> ParkedQuestion:
    """Return the current or last question of a parked turn.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    part = f"the question of turn {record.number}"
    return read_stored(ParkedQuestion, record.wait or "{}", session_id=state.session_id, part=part)


@dataclass(frozen=True)
class SessionFacts:
    """Settings of a session in one edition; shared by all its turns in a process."""

    collab: Collab
    spec: SessionSpec
    opened_ms: int
    #: Number of changes by steering.
    edition: int = 0
    #: Settings that apply when the next round begins.
    coming: SessionFacts | None = None

    @property
    def session_id(self) -> str:
        """Return the session's id, which is the collab's."""
        return self.collab.collab_id

    @cached_property
    def roster(self) -> dict[str, Participant]:
        """Return participants by id, in roster order."""
        return {p.participant_id: p for p in self.collab.participants}

    @cached_property
    def people(self) -> dict[str, Participant]:
        """Return the people who may be asked, by name."""
        others = (*self.spec.approvers, *self.spec.observers)
        return {p.participant_id: p for p in people_of(self.participants, others)}

    @cached_property
    def limits(self) -> RemainingBudget:
        """Return the budget of the whole session; None: no limit."""
        return self.spec.stop.remaining(Totals())

    @property
    def has_budget(self) -> bool:
        """Return whether turns reserve what they may spend."""
        return self.limits.tokens is not None or self.limits.cost_micros is not None

    @cached_property
    def participants(self) -> tuple[Participant, ...]:
        """Return the participants in roster order."""
        return tuple(self.collab.participants)


def read_facts(session_id: str, documents: SessionDocuments, opened_ms: int) -> SessionFacts:
    """Return the facts of a session from its documents.

    Raises:
        CorruptSession: A stored record is invalid.
    """

    def facts(collab: str, spec: str, coming: SessionFacts | None = None) -> SessionFacts:
        return SessionFacts(
            read_stored(Collab, collab, session_id=session_id, part="collab"),
            read_stored(SessionSpec, spec, session_id=session_id, part="spec"),
            opened_ms,
            documents.edition,
            coming,
        )

    coming = None
    if documents.next_collab is not None and documents.next_spec is not None:
        coming = facts(documents.next_collab, documents.next_spec)
    return facts(documents.collab, documents.spec, coming)


def _open_turn(facts: SessionFacts, state: SessionState, record: TurnRecord) -> OpenTurn:
    has_item = record.plan and '"item"' in record.plan
    item = decode_planned_turn(state, record, facts.roster).item if has_item else None
    return OpenTurn(
        number=record.number,
        participant=record.participant,
        scope=record.scope,
        item=item,
        parked=record.parking is not None and record.child is None,
        unbegun=record.status == "planned",
    )


def _totals(state: SessionState, *, closed: int, skipped: int, rounds: int, usage: Usage) -> Totals:
    elapsed_s = (state.now_ms - state.started_ms) / 1000
    return Totals(turns=closed, skipped=skipped, rounds=rounds, usage=usage, elapsed_s=elapsed_s)


def begins_round(facts: SessionFacts, state: SessionState, *, said: TurnResult | None = None) -> bool:
    """Return whether the roster of `facts.coming` applies from the next plan on; `said`: after its commit.

    A swarm has no rounds: there a participant leaves when its turn has closed.
    """
    if facts.coming is None:
        return False
    at_work = [turn for turn in state.open_turns() if said is None or turn.number != said.number]
    if not mode_of(facts.collab.mode).has_rounds:
        return not any(turn.participant not in facts.coming.roster for turn in at_work)
    return not at_work and (state.ends_round or state.next_number == 1)


def initial_view(facts: SessionFacts) -> SessionView:
    """Return what the planner sees before the first step."""
    return SessionView(
        mode=facts.collab.mode,
        purpose=facts.collab.purpose,
        roster=facts.participants,
        orchestrator=facts.spec.orchestrator,
        options=facts.spec.options,
    )


def session_view(facts: SessionFacts, state: SessionState, *, said: TurnResult | None = None) -> SessionView:
    """Return the planner's view; with `said`, after the commit of that turn.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    results = [decode_turn_result(state, record) for record in state.unconsumed() if record.result]
    open_turns = [_open_turn(facts, state, record) for record in state.open_turns()]
    closed, skipped, usage = state.closed, state.skipped, state.usage
    if said is not None:
        results = sorted([*results, said], key=lambda result: result.number)
        open_turns = [turn for turn in open_turns if turn.number != said.number]
        # The usage of earlier attempts is already booked.
        before = sum_usage(state.records[said.number].spent.values())
        closed, usage = closed + 1, usage + said.usage.beyond(before)
        skipped += said.kind is OutcomeKind.SKIPPED
    rounds = state.rounds + (state.ends_round and not open_turns)
    return replace(
        initial_view(facts),
        state=read_object(state.planner, session_id=state.session_id, part="planner"),
        results=tuple(results),
        open=tuple(open_turns),
        totals=_totals(state, closed=closed, skipped=skipped, rounds=rounds, usage=usage),
        turns_left=None,
    )


def _ledger(
    facts: SessionFacts, state: SessionState, planned: PlannedTurn, totals: Totals
) -> DecisionLedger | None:
    """Return the ledger for the turn of an orchestrator; None: another turn."""
    ledger_of_turn = mode_of(facts.collab.mode).ledger
    if ledger_of_turn is None or planned.expects is not Expects.DECISION:
        return None
    view = replace(
        initial_view(facts),
        state=read_object(state.planner, session_id=state.session_id, part="planner"),
        totals=totals,
    )
    rounds_left = facts.spec.stop.remaining(totals).rounds
    with converting_to_corrupt(state.session_id, "planner"):
        return ledger_of_turn(view).model_copy(update={"rounds_left": rounds_left})


def _remaining(facts: SessionFacts, state: SessionState, grant: Grant, totals: Totals) -> RemainingBudget:
    """Return the budget of this turn: in each limited unit, at most its reservation."""
    left, record = facts.spec.stop.remaining(totals), state.records[grant.number]
    own: dict[str, int] = {}
    if left.tokens is not None:
        own["tokens"] = record.reserved.tokens
    if left.cost_micros is not None:
        own["cost_micros"] = record.reserved.cost
    return left.model_copy(update=own) if own else left


#: Number of messages that a turn of a review gets: all, so that the opening is among them.
_REVIEW_WINDOW = 1_000


def granted_window(facts: SessionFacts, window: int) -> int:
    """Return the number of messages that a turn must read, so that its agent can be shown `window` messages."""
    return max(window, _REVIEW_WINDOW) if window and REVIEW_PARAMETER in facts.spec.parameters else window


def newest_messages(messages: Sequence[T], window: int, *, is_first_pinned: bool) -> Sequence[T]:
    """Return the newest messages; a pinned first one takes the place of the oldest of them."""
    if not window:
        return ()
    if not is_first_pinned or len(messages) <= window:
        return messages[-window:]
    return [messages[0], *messages[len(messages) - window + 1 :]]


def turn_context(
    facts: SessionFacts,
    state: SessionState,
    grant: Grant,
    planned: PlannedTurn,
    *,
    window: int,
    timeout_s: float,
    earlier: Sequence[Message] = (),
    memory: MemoryView | None = None,
) -> TurnContext:
    """Return the context of one turn for its agent, with the newest `window` of the granted messages.

    `earlier`: messages of the session's history, which come before them.
    """
    texts = newest_messages(grant.messages, window, is_first_pinned=REVIEW_PARAMETER in facts.spec.parameters)
    binding, mode = facts.spec.agents[planned.participant], mode_of(facts.collab.mode)
    totals = _totals(
        state, closed=state.closed, skipped=state.skipped, rounds=state.rounds, usage=state.usage
    )
    return TurnContext(
        session_id=facts.session_id,
        mode=facts.collab.mode,
        mode_prompt=mode.prompt,
        one_turn_each=mode.one_turn_each,
        title=facts.collab.title,
        purpose=facts.collab.purpose,
        me=facts.roster[planned.participant],
        roster=facts.participants,
        approvers=facts.spec.approvers,
        observers=facts.spec.observers,
        turn_number=grant.number,
        attempt=grant.grants,
        expects=planned.expects,
        instruction=planned.instruction
        if planned.output
        else add_format_instruction(facts.spec.protocol, planned.instruction),
        scoring=facts.spec.protocol is not None,
        output_schema=facts.spec.output.json_schema if planned.output and facts.spec.output else None,
        messages=(*earlier, *read_all_stored(Message, texts, session_id=facts.session_id, part="dialog")),
        ledger=_ledger(facts, state, planned, totals),
        item=planned.item,
        parameters={**facts.spec.parameters, **binding.parameters},
        memory=memory,
        remaining=_remaining(facts, state, grant, totals),
        timeout_s=timeout_s,
    )
