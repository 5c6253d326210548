"""Settings of a session, and its view for planners, built from its state in Redis. Pure.

This module parses the parts of a turn that scripts do not decode: plan, result, question.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from ...models.errors import CorruptSession, InvalidInput
from ...models.modes import mode_of
from ...models.protocol.collab import Collab, Participant
from ...models.sessions.plan import OpenTurn, PlannedTurn, SessionView, Totals
from ...models.sessions.spec import SessionSpec
from ...models.text.text_cache import cache_texts
from ...models.turns.asked_people import people_of
from ...models.turns.turn import (
    OutcomeKind,
    RemainingBudget,
    TurnResult,
    Usage,
)
from ...models.turns.waiting import ParkedQuestion
from ...state.redis.readers import converting_to_corrupt, read_object, read_stored
from ...state.sessions.records import SessionState
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
    with converting_to_corrupt(state.session_id, f"the result of turn {record.number}"):
        return _read_turn_result(record.result or "{}")


# Each turn of a step reads the results of those that closed before it, until a plan has seen them.
@cache_texts(maxsize=1_024)
def _read_turn_result(text: str) -> TurnResult:
    return TurnResult.model_validate_json(text)


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
    def names(self) -> tuple[str, ...]:
        """Return all names of the participants: ids, display names and role ids."""
        names = ((p.participant_id, p.display_name, p.role_id) for p in self.participants)
        return tuple(name for of_one in names for name in of_one if name)

    @cached_property
    def agents(self) -> tuple[tuple[str, str], ...]:
        """Return participant ids with their agents."""
        return tuple((who, binding.agent) for who, binding in self.spec.agents.items())

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """Return what participants are for, by id, as far as the session says it."""
        return {who: binding.description for who, binding in self.spec.agents.items() if binding.description}

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
        parked=record.parking is not None and record.child is None and record.batch is None,
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


def initial_view(facts: SessionFacts, **progress: Any) -> SessionView:
    """Return what the planner sees before the first step, or with the fields `progress` of its progress."""
    return SessionView(
        mode=facts.collab.mode,
        purpose=facts.collab.purpose,
        roster=facts.participants,
        orchestrator=facts.spec.orchestrator,
        options=facts.spec.options,
        **progress,
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
    return initial_view(
        facts,
        state=read_object(state.planner, session_id=state.session_id, part="planner"),
        results=tuple(results),
        open=tuple(open_turns),
        totals=_totals(state, closed=closed, skipped=skipped, rounds=rounds, usage=usage),
    )
