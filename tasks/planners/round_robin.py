"""Round robin: everyone speaks in roster order, again and again.

Source: Collab module, section 3.1 and `advanceTurn` of section 5.2.
"""

from __future__ import annotations

from ...models.plan import Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxRounds, StopCondition
from ...models.turn import Frozen

DEFAULT_STOP: StopCondition = MaxRounds(3)


class _Memory(Frozen):
    #: Place in the roster of who speaks next.
    cursor: int = 0


def plan(view: SessionView) -> Plan:
    """The next of the roster has the floor; a round ends with the last of it."""
    if view.open:
        return Wait()
    roster = view.ids()
    cursor = _Memory.model_validate(view.state).cursor % len(roster)
    following = (cursor + 1) % len(roster)
    return Step(
        turns=(PlannedTurn(participant=roster[cursor]),),
        state={"cursor": following},
        ends_round=following == 0,
    )
