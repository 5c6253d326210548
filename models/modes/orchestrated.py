"""Orchestrated: the orchestrator names the next speakers; after their turns it decides again.

The orchestrator gets the decision log as a ledger with its turn.
"""

from __future__ import annotations

import hashlib
from itertools import takewhile

from pydantic import JsonValue

from ..protocol.collab import Collab, orchestrator_of
from ..sessions.options import ModeOptions
from ..sessions.plan import FLOOR_SCOPE, Finish, ParticipantRoles, Plan, PlannedTurn, SessionView, Step, Wait
from ..sessions.stop_conditions import MaxRounds, StopCondition
from ..turns.decision_ledger import DecisionLedger
from ..turns.frozen import Frozen
from ..turns.turn import Decision, Expects, OutcomeKind, TurnResult
from .decisions import LAST_TURNS, DecisionLog, check_decision
from .mode import Mode, all_but, refuse_unless_one_other
from .positions import orchestrated_position
from .texts.common import name
from .texts.orchestrated import TEXTS

_DEFAULT_STOP: StopCondition = MaxRounds(10)


def refuse_hand_off(view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Return why a hand-off is refused; empty: it is passed to the orchestrator."""
    if result.participant == view.orchestrator:
        return "the orchestrator names the next speakers in its decision, not by hand-off"
    return refuse_unless_one_other(view, result, to)


class _PlannerState(Frozen):
    ledger: DecisionLog = DecisionLog()
    #: True: the next turn to close is the orchestrator's decision.
    asked: bool = False
    #: The decision in progress; `next` are the speakers who have not spoken yet.
    choice: Decision | None = None
    #: Fingerprint of the previous decision.
    previous: str = ""
    #: Numbers of the turns since the previous decision that repeat messages.
    repeats: tuple[int, ...] = ()

    def is_repeating(self, orchestrator: str | None) -> bool:
        """Return whether the turns since the previous decision brought nothing new, and some of them repeat messages.

        A new plan, which follows such turns without others in between, has not brought anything yet either.
        """
        before = reversed(self.ledger.turns[:-1])  # the last one is the new decision
        turns = list(takewhile(lambda turn: turn.participant != orchestrator, before))
        return bool(self.repeats) and all(
            turn.number in self.repeats or turn.outcome != OutcomeKind.MESSAGE for turn in turns
        )


def ledger_of_turn(view: SessionView) -> DecisionLedger:
    """Return the ledger for the orchestrator's turn that is open."""
    return _PlannerState.model_validate(view.state).ledger.ledger(view)


def plan(view: SessionView) -> Plan:
    """Plan turns in the order orchestrator, named speakers, orchestrator, and so on."""
    if view.open:
        return Wait()
    state = _PlannerState.model_validate(view.state)
    repeats = (*state.repeats, *(result.number for result in view.results if result.repeats))[-LAST_TURNS:]
    state = state.model_copy(update={"ledger": state.ledger.add_turns(view), "repeats": repeats})
    if state.asked:
        return _judge(view, state)
    if state.choice and state.choice.next:
        return _carry_out(view, state, state.choice)
    return _ask(view, state)


def _ask(view: SessionView, state: _PlannerState) -> Plan:
    if view.orchestrator is None:
        raise AssertionError("an orchestrated session has no orchestrator (bug in Symposia)")
    turn = PlannedTurn(
        participant=view.orchestrator,
        instruction=state.ledger.build_instruction(view),
        expects=Expects.DECISION,
    )
    return Step(turns=(turn,), state=_dump_state(state, asked=True, choice=None))


def _judge(view: SessionView, state: _PlannerState) -> Plan:
    """Return the plan that follows from the orchestrator's turn, which has just closed."""
    decision = next((r.decision for r in reversed(view.results) if r.participant == view.orchestrator), None)
    if decision and decision.satisfied:
        return Finish(reason="satisfied", detail=decision.reason or f"{view.orchestrator} is satisfied")
    choice, fault = check_decision(decision, view.roster, view.orchestrator)
    was_asked_again = any(r.asked_again for r in view.results if r.participant == view.orchestrator)
    state = state.model_copy(update={"ledger": _count_stalls(view, state, decision, choice, fault)})
    if state.ledger.stalls > view.options.max_stalls:
        if state.ledger.replans < view.options.max_replans:
            return _ask(view, state.model_copy(update={"ledger": state.ledger.request_new_plan()}))
        why = f"{state.ledger.stalls} decisions in a row without progress"
        return Finish(reason="stalled", detail=choice.reason or why)
    if fault:
        return _send_back(view, state, choice, fault, gives_up=was_asked_again)
    return _carry_out(view, _record_decision(view, state, choice), choice)


def _count_stalls(
    view: SessionView, state: _PlannerState, decision: Decision | None, choice: Decision, fault: str
) -> DecisionLog:
    """Return the log with its stalls counted.

    No progress counts as one stall, and so do the same instructions to the same speakers, and turns that brought
    nothing new.
    """
    ledger = state.ledger
    repeats = bool(state.previous) and _fingerprint(choice) == state.previous
    repeats = not fault and (repeats or state.is_repeating(view.orchestrator))
    if decision and (repeats or not decision.progress):
        return ledger.model_copy(update={"stalls": ledger.stalls + 1})
    return ledger if fault else ledger.model_copy(update={"stalls": 0, "replans": 0})


def _fingerprint(choice: Decision) -> str:
    """Return a fingerprint of speakers and instructions; empty without instructions."""
    if not (choice.instruction or choice.instructions):
        return ""
    wording = choice.model_dump_json(include={"next", "side_by_side", "instruction", "instructions"})
    return hashlib.sha256(wording.encode()).hexdigest()[:16]


def _send_back(
    view: SessionView, state: _PlannerState, choice: Decision, fault: str, *, gives_up: bool
) -> Plan:
    """Ask the orchestrator again; if it was asked again often enough, the longest waiting has the turn."""
    ledger = state.ledger
    if ledger.invalid < view.options.max_invalid and not gives_up:
        ledger = ledger.model_copy(update={"invalid": ledger.invalid + 1, "fault": fault})
        return _ask(view, state.model_copy(update={"ledger": ledger}))
    workers = [name for name in view.ids() if name != view.orchestrator]
    if not workers:
        return Finish(reason="stalled", detail=f"{view.orchestrator} is alone and not satisfied")
    waited = ledger.longest_waiting(workers)
    choice = choice.model_copy(update={"next": (waited,), "side_by_side": False, "fault": ""})
    return _carry_out(view, _record_decision(view, state, choice, note=", who has waited longest"), choice)


def _record_decision(
    view: SessionView, state: _PlannerState, choice: Decision, *, note: str = ""
) -> _PlannerState:
    ledger = state.ledger.add_decision(choice, round_number=view.totals.rounds + 1, note=note)
    ledger = ledger.model_copy(update={"invalid": 0, "fault": "", "hand_offs": ()})
    return state.model_copy(update={"ledger": ledger, "previous": _fingerprint(choice), "repeats": ()})


def _carry_out(view: SessionView, state: _PlannerState, choice: Decision) -> Step:
    """Plan the turn of the next chosen speaker, or the turns of all of them in parallel."""
    count = len(choice.next) if choice.side_by_side else 1
    speakers, later = choice.next[:count][: view.turns_left], choice.next[count:]
    alone = len(speakers) == 1
    turns = tuple(
        PlannedTurn(
            participant=name,
            scope=FLOOR_SCOPE if alone else f"slot:{name}",
            instruction=choice.instruction_for(name),
            snapshot=not alone,
        )
        for name in speakers
    )
    rest = choice.model_copy(update={"next": later}) if later else None
    return Step(turns=turns, state=_dump_state(state, asked=False, choice=rest), ends_round=not later)


def _dump_state(state: _PlannerState, *, asked: bool, choice: Decision | None) -> dict[str, JsonValue]:
    changed = state.model_copy(update={"asked": asked, "choice": choice})
    return changed.model_dump(mode="json", exclude_defaults=True)


def _roles(collab: Collab, options: ModeOptions) -> ParticipantRoles:
    orchestrator = orchestrator_of(collab, options.orchestrator)
    return ParticipantRoles(orchestrator, orchestrator, all_but(collab, orchestrator))


MODE = Mode(
    name="orchestrated",
    summary="An orchestrator names who speaks next, and decides again after each turn.",
    texts=TEXTS,
    ending=lambda position: f"when {name(position.orchestrator)} finds the task answered",
    position=orchestrated_position,
    plan=plan,
    default_stop=_DEFAULT_STOP,
    refuses=refuse_hand_off,
    ledger=ledger_of_turn,
    has_orchestrator=True,
    judge_title="Orchestrator",
    roles=_roles,
)
