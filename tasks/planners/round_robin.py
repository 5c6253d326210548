"""Round robin: everyone speaks in roster order, again and again.

After a hand-off the named participant speaks next. It takes its turn of this round early or, if it has had that one,
its turn of the next round. So everyone has as many turns as there are rounds, and at most one more.

Source: Collab module, section 3.1 and `advanceTurn` of section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...models.plan import Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxRounds, StopCondition
from ...models.turn import Frozen, TurnResult
from .hand_offs import all_but_to_one_other

DEFAULT_STOP: StopCondition = MaxRounds(3)


class _Memory(Frozen):
    #: Place in the roster of the first one who has not had a turn in this round.
    cursor: int = 0
    #: Those behind that place who have had a turn in this round.
    early: tuple[str, ...] = ()
    #: Those who have had their turn of the next round, too.
    ahead: tuple[str, ...] = ()

    def waiting(self, roster: Sequence[str]) -> list[str]:
        """Those who have not had a turn in this round, in roster order."""
        return [name for name in roster[self.cursor :] if name not in self.early]

    def after(self, speaker: str, roster: Sequence[str]) -> _Memory:
        """What to remember once the speaker has had a turn; with the last of a round the next one begins."""
        waiting = self.waiting(roster)
        if speaker not in waiting:
            return self.model_copy(update={"ahead": (*self.ahead, speaker)})
        waiting.remove(speaker)
        if not waiting:
            return _Memory(early=self.ahead)
        cursor = roster.index(waiting[0])
        early = tuple(name for name in roster[cursor:] if name not in waiting)
        return _Memory(cursor=cursor, early=early, ahead=self.ahead)


def plan(view: SessionView) -> Plan:
    """Give the floor to the participant named in a hand-off, or else to the next of the roster."""
    if view.open:
        return Wait()
    roster, memory = view.ids(), _remembered(view)
    named = [result.hand_off for result in view.results if result.hand_off in roster]
    speaker = named[-1] if named and named[-1] is not None else memory.waiting(roster)[0]
    following = memory.after(speaker, roster)
    return Step(
        turns=(PlannedTurn(participant=speaker),),
        state={"cursor": following.cursor, **following.model_dump(mode="json", exclude_defaults=True)},
        ends_round=memory.waiting(roster) == [speaker],
    )


def refuses(view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Say why a hand-off is refused: nobody is more than one turn ahead of the others; empty: it is taken."""
    if fault := all_but_to_one_other(view, result, to):
        return fault
    is_ahead = to[0] in _remembered(view).ahead
    return f"{to[0]} has had the turn of the next round already" if is_ahead else ""


def _remembered(view: SessionView) -> _Memory:
    """The planner's memory; those who are left out take part no longer."""
    memory, roster = _Memory.model_validate(view.state), view.ids()
    memory = memory.model_copy(update={"cursor": memory.cursor % len(roster)})
    return memory if memory.waiting(roster) else _Memory()
