"""Round robin: all participants speak in roster order, again and again.

After a hand-off the named participant speaks next. It takes its turn of this round early, or its turn of the
next round if it already had that one. So every participant has one turn per round, and at most one more.

Source: Collab module, section 3.1 and `advanceTurn` of section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..sessions.plan import Plan, PlannedTurn, SessionView, Step, Wait
from ..sessions.stop_conditions import MaxRounds, StopCondition
from ..turns.frozen import Frozen
from ..turns.turn import TurnResult
from .mode import Mode, refuse_unless_one_other
from .texts.round_robin import TEXTS

_DEFAULT_STOP: StopCondition = MaxRounds(3)


class _PlannerState(Frozen):
    #: Position in the roster of the first participant without a turn in this round.
    cursor: int = 0
    #: Participants after that position who have had a turn in this round.
    early: tuple[str, ...] = ()
    #: Participants who also have had their turn of the next round.
    ahead: tuple[str, ...] = ()

    def waiting(self, roster: Sequence[str]) -> list[str]:
        """Return the participants without a turn in this round, in roster order."""
        return [name for name in roster[self.cursor :] if name not in self.early]

    def after(self, speaker: str, roster: Sequence[str], waiting: Sequence[str]) -> _PlannerState:
        """Return the state after a turn of the speaker; the last turn of a round begins the next round."""
        if speaker not in waiting:
            return self.model_copy(update={"ahead": (*self.ahead, speaker)})
        if len(waiting) == 1:
            return _PlannerState(early=self.ahead)
        cursor = roster.index(waiting[1] if waiting[0] == speaker else waiting[0])
        done = {*self.early, speaker}
        early = tuple(name for name in roster[cursor:] if name in done)
        return _PlannerState(cursor=cursor, early=early, ahead=self.ahead)


def plan(view: SessionView) -> Plan:
    """Plan the turn of the participant named in a hand-off, or else of the next in the roster."""
    if view.open:
        return Wait()
    roster = view.ids()
    state = _load_state(view, roster)
    named = [result.hand_off for result in view.results if result.hand_off in roster]
    waiting = state.waiting(roster)
    speaker = named[-1] if named and named[-1] is not None else waiting[0]
    following = state.after(speaker, roster, waiting)
    return Step(
        turns=(PlannedTurn(participant=speaker),),
        state={"cursor": following.cursor, **following.model_dump(mode="json", exclude_defaults=True)},
        ends_round=waiting == [speaker],
    )


def refuse_hand_off(view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Return why a hand-off is refused; empty: it is accepted.

    No participant gets more than one turn ahead of the others.
    """
    if fault := refuse_unless_one_other(view, result, to):
        return fault
    is_ahead = to[0] in _load_state(view, view.ids()).ahead
    return f"{to[0]} has already spoken in the next round" if is_ahead else ""


def _load_state(view: SessionView, roster: Sequence[str]) -> _PlannerState:
    """Return the planner's state, without participants who have left."""
    state = _PlannerState.model_validate(view.state)
    if not 0 <= state.cursor < len(roster):
        state = state.model_copy(update={"cursor": state.cursor % len(roster)})
    return state if state.waiting(roster) else _PlannerState()


MODE = Mode(
    name="round_robin",
    summary="Everyone speaks in roster order, again and again.",
    texts=TEXTS,
    plan=plan,
    default_stop=_DEFAULT_STOP,
    refuses=refuse_hand_off,
    one_turn_each=True,
)
