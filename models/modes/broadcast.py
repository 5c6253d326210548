"""Broadcast: one message to all participants at once; all answer the same snapshot in parallel.

The message is the user's. A broadcaster, such as an orchestrator, writes it in a turn of its own before each round, and
does not answer it.

The last answer closes a round, or a quorum of answers; with a quorum, open turns are dropped. A turn without
an answer in time closes as skipped. With an aggregator, a round ends with the aggregator's turn, which sees
all the answers.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ..errors import InvalidInput
from ..protocol.collab import Collab, Participant
from ..sessions.options import ModeOptions
from ..sessions.plan import ParticipantRoles, Plan, PlannedTurn, SessionView, Step, Wait
from ..sessions.stop_conditions import MaxRounds, StopCondition
from ..turns.frozen import Frozen
from ..turns.turn import OutcomeKind
from .mode import Mode, all_but
from .positions import broadcast_position
from .texts.broadcast import TEXTS

_DEFAULT_STOP: StopCondition = MaxRounds(1)

_SUM_UP = "Summarise the answers of this round: where they agree, where they differ, and what follows."


class _Phase(StrEnum):
    ANSWERS = "answers"
    #: The answers are complete; only the aggregator may still speak.
    CLOSING = "closing"


_WRITE = "Write the message that goes to all other participants at once. Each of them answers it on its own."


class _PlannerState(Frozen):
    phase: _Phase = _Phase.CLOSING
    round: int = 0


def plan(view: SessionView) -> Plan:
    """Plan a turn for each participant, then for the aggregator if there is one, then the next round."""
    state = _PlannerState.model_validate(view.state)
    broadcaster = view.options.broadcaster_among(view.roster)
    if state.phase is _Phase.ANSWERS:
        if broadcaster and not view.open and {result.participant for result in view.results} == {broadcaster}:
            return _ask_all(view, state, broadcaster)
        if view.open and not _has_quorum(view):
            return Wait()
        # Without an aggregator, a round with all its answers has already ended.
        if view.open or view.options.aggregator:
            return _close(view, state)
    elif view.open:
        return Wait()
    if broadcaster and view.turns_left != 1:
        return _compose(state, broadcaster)
    return _ask_all(view, state, broadcaster)


def _compose(state: _PlannerState, broadcaster: str) -> Step:
    """Plan the turn in which the broadcaster writes the message of the next round.

    Its phase is that of the answers, which no broadcaster gives: earlier releases know no other.
    """
    return Step(
        turns=(PlannedTurn(participant=broadcaster, instruction=_WRITE),),
        state=_PlannerState(phase=_Phase.ANSWERS, round=state.round).model_dump(mode="json"),
    )


def _has_quorum(view: SessionView) -> bool:
    quorum = view.options.quorum
    if quorum is None or (view.options.aggregator and view.turns_left == 0):
        # A turn to drop may close at this moment; then a planned aggregator turn would exceed the limit.
        return False
    return sum(result.kind is OutcomeKind.MESSAGE for result in view.results) >= quorum


def _ask_all(view: SessionView, state: _PlannerState, broadcaster: str | None) -> Step:
    number = state.round + 1
    messages = [
        result
        for result in view.results
        if result.participant == broadcaster and result.kind is OutcomeKind.MESSAGE
    ]
    # The first round needs no message: every agent gets the purpose.
    again = f"Round {number}: read what the others answered, then answer again."
    message = "" if number == 1 or messages else again
    # An aggregator alone in the roster answers too; otherwise there would be no answer.
    recipients = [
        name for name in view.ids() if name not in (view.options.aggregator, broadcaster)
    ] or view.ids()
    return Step(
        turns=tuple(
            PlannedTurn(
                participant=name, scope=f"slot:{name}", instruction=message, snapshot=True, broadcast=True
            )
            for name in recipients[: view.turns_left]
        ),
        state=_PlannerState(phase=_Phase.ANSWERS, round=number).model_dump(mode="json"),
        ends_round=view.options.aggregator is None,
        announce=message,
        announced_turn=messages[-1].number if messages else None,
    )


def _close(view: SessionView, state: _PlannerState) -> Step:
    """Drop the turns that are still open; plan the aggregator's turn, if there is an aggregator."""
    aggregator = view.options.aggregator
    return Step(
        turns=(PlannedTurn(participant=aggregator, instruction=_SUM_UP),) if aggregator else (),
        state=_PlannerState(phase=_Phase.CLOSING, round=state.round).model_dump(mode="json"),
        ends_round=True,
        drop=tuple(turn.number for turn in view.open),
    )


def _check(roster: Sequence[Participant], options: ModeOptions) -> None:
    ids = [p.participant_id for p in roster]
    if options.aggregator is not None and options.aggregator not in ids:
        rule = f"must be the id of a participant: {', '.join(ids)}"
        raise InvalidInput("options.aggregator", options.aggregator, rule)
    broadcaster = options.broadcaster_among(roster)
    if broadcaster is not None and (broadcaster not in ids or len(ids) == 1):
        rule = f"must be the id of one of several participants: {', '.join(ids)}"
        raise InvalidInput("options.broadcaster", options.broadcaster, rule)
    answering = len([name for name in ids if name not in (options.aggregator, broadcaster)])
    if options.quorum is not None and options.quorum > answering:
        raise InvalidInput(
            "options.quorum",
            options.quorum,
            f"must be at most {answering}, the number of answering participants",
        )


def _roles(collab: Collab, options: ModeOptions) -> ParticipantRoles:
    """Return the roles; without an aggregator, the last participant who answers gives the output."""
    sender = options.broadcaster_among(collab.participants)
    answering = all_but(collab, sender)
    return ParticipantRoles(
        output_by=options.aggregator or (answering[-1] if answering else None),
        experts=all_but(collab, options.aggregator, sender),
    )


MODE = Mode(
    name="broadcast",
    summary="All answer the same message side by side; an aggregator may sum up.",
    texts=TEXTS,
    position=broadcast_position,
    plan=plan,
    default_stop=_DEFAULT_STOP,
    one_turn_each=True,
    judge_title="Aggregator",
    roles=_roles,
    check=_check,
)
