"""Orchestrated: the orchestrator names who speaks next, they speak, it decides again.

A decision names one speaker, several in order, or several side by side. A choice that is not
valid is sent back with the reason, a bounded number of times; then the one who has waited
longest speaks. When nothing moves any more a new plan is asked for, and then the session ends. A
round is one valid decision and the turns of those it names.

Source: Collab module, section 3.1; `map_orchestrator_required` of section 5.1.
"""

from __future__ import annotations

import hashlib

from pydantic import JsonValue

from ...models.choices import understood
from ...models.plan import FLOOR, Finish, Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxRounds, StopCondition
from ...models.turn import Decision, Expects, Frozen, TurnResult
from .hand_offs import all_but_to_one_other
from .ledger import Ledger

DEFAULT_STOP: StopCondition = MaxRounds(10)


def refuses(view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Say why a hand-off is refused; empty: the orchestrator is told of it."""
    if result.participant == view.orchestrator:
        return "the orchestrator names the next speakers in its decision"
    return all_but_to_one_other(view, result, to)


class _Memory(Frozen):
    ledger: Ledger = Ledger()
    #: True: the turn that closes next is the orchestrator's decision.
    asked: bool = False
    #: The decision that is being carried out; `next` are those who have yet to speak.
    choice: Decision | None = None
    #: Fingerprint of the decision before.
    previous: str = ""


def plan(view: SessionView) -> Plan:
    """Orchestrator, those it names, orchestrator, ..."""
    if view.open:
        return Wait()
    memory = _Memory.model_validate(view.state)
    memory = memory.model_copy(update={"ledger": memory.ledger.spoken(view)})
    if memory.asked:
        return _judge(view, memory)
    if memory.choice and memory.choice.next:
        return _carry_out(view, memory, memory.choice)
    return _ask(view, memory)


def _ask(view: SessionView, memory: _Memory) -> Plan:
    if view.orchestrator is None:
        raise AssertionError("an orchestrated session is opened with an orchestrator")
    turn = PlannedTurn(
        participant=view.orchestrator, instruction=memory.ledger.briefing(view), expects=Expects.DECISION
    )
    return Step(turns=(turn,), state=_kept(memory, asked=True, choice=None))


def _judge(view: SessionView, memory: _Memory) -> Plan:
    """What comes of the orchestrator's turn, which has just closed."""
    decision = next((r.decision for r in reversed(view.results) if r.participant == view.orchestrator), None)
    if decision and decision.satisfied:
        return Finish(reason="satisfied", detail=decision.reason or f"{view.orchestrator} is satisfied")
    choice, fault = understood(decision, view.roster, view.orchestrator)
    memory = memory.model_copy(update={"ledger": _weighed(memory, decision, choice, fault)})
    if memory.ledger.stalls > view.options.max_stalls:
        if memory.ledger.replans < view.options.max_replans:
            return _ask(view, memory.model_copy(update={"ledger": memory.ledger.replanned()}))
        why = f"{memory.ledger.stalls} decisions in a row without progress"
        return Finish(reason="stalled", detail=choice.reason or why)
    if fault:
        return _send_back(view, memory, choice, fault)
    return _carry_out(view, _decided(view, memory, choice), choice)


def _weighed(memory: _Memory, decision: Decision | None, choice: Decision, fault: str) -> Ledger:
    """The ledger with its stalls counted: one for no progress, and for telling the same people the same."""
    ledger = memory.ledger
    repeats = not fault and bool(memory.previous) and _fingerprint(choice) == memory.previous
    if decision and (repeats or not decision.progress):
        return ledger.model_copy(update={"stalls": ledger.stalls + 1})
    return ledger if fault else ledger.model_copy(update={"stalls": 0, "replans": 0})


def _fingerprint(choice: Decision) -> str:
    """The same for the same people told the same; empty where nobody is told anything."""
    if not (choice.instruction or choice.instructions):
        return ""
    told = choice.model_dump_json(include={"next", "side_by_side", "instruction", "instructions"})
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _send_back(view: SessionView, memory: _Memory, choice: Decision, fault: str) -> Plan:
    ledger = memory.ledger
    if ledger.invalid < view.options.max_invalid:
        ledger = ledger.model_copy(update={"invalid": ledger.invalid + 1, "fault": fault})
        return _ask(view, memory.model_copy(update={"ledger": ledger}))
    workers = [name for name in view.ids() if name != view.orchestrator]
    if not workers:
        return Finish(reason="stalled", detail=f"{view.orchestrator} is alone and not satisfied")
    waited = ledger.longest_waiting(workers)
    choice = choice.model_copy(update={"next": (waited,), "side_by_side": False})
    return _carry_out(view, _decided(view, memory, choice, note=", who had waited longest"), choice)


def _decided(view: SessionView, memory: _Memory, choice: Decision, *, note: str = "") -> _Memory:
    ledger = memory.ledger.decided(choice, round_number=view.totals.rounds + 1, note=note)
    ledger = ledger.model_copy(update={"invalid": 0, "fault": "", "hand_offs": ()})
    return memory.model_copy(update={"ledger": ledger, "previous": _fingerprint(choice)})


def _carry_out(view: SessionView, memory: _Memory, choice: Decision) -> Step:
    """Gives the floor to the next of those chosen, or lets all of them speak side by side."""
    count = len(choice.next) if choice.side_by_side else 1
    speakers, later = choice.next[:count][: view.turns_left], choice.next[count:]
    alone = len(speakers) == 1
    turns = tuple(
        PlannedTurn(
            participant=name,
            scope=FLOOR if alone else f"slot:{name}",
            instruction=choice.instruction_for(name),
            snapshot=not alone,
        )
        for name in speakers
    )
    rest = choice.model_copy(update={"next": later}) if later else None
    return Step(turns=turns, state=_kept(memory, asked=False, choice=rest), ends_round=not later)


def _kept(memory: _Memory, *, asked: bool, choice: Decision | None) -> dict[str, JsonValue]:
    changed = memory.model_copy(update={"asked": asked, "choice": choice})
    return changed.model_dump(mode="json", exclude_defaults=True)
