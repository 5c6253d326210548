"""Broadcast: one message to all at once, all answer the same snapshot side by side.

A round is closed by the last answer, or by a quorum of answers: the turns that are still
open then are dropped. A turn that nobody answers in time closes as skipped. With an
aggregator, a round ends with its turn, which sees all the answers.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from enum import StrEnum

from ...models.plan import Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxRounds, StopCondition
from ...models.turn import Frozen, OutcomeKind

DEFAULT_STOP: StopCondition = MaxRounds(1)

_SUM_UP = "Sum up the answers of this round: what they agree on, where they differ, and what follows."


class _Phase(StrEnum):
    ANSWERS = "answers"
    #: The answers are in; at most the aggregator speaks.
    CLOSING = "closing"


class _Memory(Frozen):
    phase: _Phase = _Phase.CLOSING
    round: int = 0


def plan(view: SessionView) -> Plan:
    """All at once; then the aggregator, if there is one; then the next round."""
    memory = _Memory.model_validate(view.state)
    if memory.phase is _Phase.ANSWERS:
        if view.open and not _has_quorum(view):
            return Wait()
        # Without an aggregator, a round whose answers are all in has ended by itself.
        if view.open or view.options.aggregator:
            return _close(view, memory)
    elif view.open:
        return Wait()
    return _ask_all(view, memory)


def _has_quorum(view: SessionView) -> bool:
    quorum = view.options.quorum
    if quorum is None or (view.options.aggregator and view.turns_left == 0):
        # What is to be dropped may close this very instant: the aggregator would be a turn too many.
        return False
    return sum(result.kind is OutcomeKind.MESSAGE for result in view.results) >= quorum


def _ask_all(view: SessionView, memory: _Memory) -> Step:
    number = memory.round + 1
    # The first round's message is the purpose, which every agent knows.
    message = "" if number == 1 else f"Round {number}: read what the others answered, then answer again."
    # An aggregator all by itself answers, too: somebody must.
    asked = [name for name in view.ids() if name != view.options.aggregator] or view.ids()
    return Step(
        turns=tuple(
            PlannedTurn(
                participant=name, scope=f"slot:{name}", instruction=message, snapshot=True, broadcast=True
            )
            for name in asked[: view.turns_left]
        ),
        state=_Memory(phase=_Phase.ANSWERS, round=number).model_dump(mode="json"),
        ends_round=view.options.aggregator is None,
        announce=message,
    )


def _close(view: SessionView, memory: _Memory) -> Step:
    """Nobody waits for an open answer any more; the aggregator, if there is one, has the floor."""
    aggregator = view.options.aggregator
    return Step(
        turns=(PlannedTurn(participant=aggregator, instruction=_SUM_UP),) if aggregator else (),
        state=_Memory(phase=_Phase.CLOSING, round=memory.round).model_dump(mode="json"),
        ends_round=True,
        drop=tuple(turn.number for turn in view.open),
    )
