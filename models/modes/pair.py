"""Pair: a driver works and a navigator reviews, strictly in turn, until the navigator approves.

The first participant of the roster is the driver. A round is one piece of work and its review. A driver that
hands off changes roles with its partner, who continues the work.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from ..protocol.collab import Collab
from ..sessions.options import ModeOptions
from ..sessions.plan import Finish, ParticipantRoles, Plan, PlannedTurn, SessionView, Step, Wait
from ..sessions.stop_conditions import MaxRounds, StopCondition
from ..turns.frozen import Frozen
from ..turns.turn import Expects, TurnResult
from .mode import Mode, equal_roles, refuse_unless_one_other
from .positions import pair_position
from .texts.pair import TEXTS

_DEFAULT_STOP: StopCondition = MaxRounds(5)


class _PlannerState(Frozen):
    driver_spoke: bool = False
    #: True: the second participant of the roster drives.
    swapped: bool = False
    #: True: the driver's turn continues work that was handed off and not reviewed yet.
    handed_off: bool = False

    def drivers(self, ids: Sequence[str]) -> tuple[str, str]:
        """Return driver and navigator."""
        first, second = ids
        return (second, first) if self.swapped else (first, second)


def plan(view: SessionView) -> Plan:
    """Plan driver and navigator in turn, until the navigator approves.

    A passed or skipped turn is no approval.
    """
    if view.open:
        return Wait()
    state = _PlannerState.model_validate(view.state)
    driver, navigator = state.drivers(view.ids())
    for result in view.results:
        verdict = result.decision
        if result.participant == navigator and verdict and verdict.satisfied:
            return Finish(reason="approved", detail=verdict.reason or f"{navigator} approved")
    if not state.driver_spoke:
        following = state.model_copy(update={"driver_spoke": True})
        return Step(turns=(PlannedTurn(participant=driver),), state=_dump(following))
    if any(result.hand_off == navigator for result in view.results):
        following = _PlannerState(driver_spoke=True, swapped=not state.swapped, handed_off=True)
        return Step(turns=(PlannedTurn(participant=navigator),), state=_dump(following))
    review = PlannedTurn(participant=navigator, expects=Expects.REVIEW)
    return Step(turns=(review,), state=_dump(_PlannerState(swapped=state.swapped)), ends_round=True)


def _dump(state: _PlannerState) -> dict[str, JsonValue]:
    return {"driver_spoke": state.driver_spoke, **state.model_dump(mode="json", exclude_defaults=True)}


def refuse_hand_off(view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Return why a hand-off is refused; empty: driver and navigator change roles."""
    if fault := refuse_unless_one_other(view, result, to):
        return fault
    state = _PlannerState.model_validate(view.state)
    if result.participant != state.drivers(view.ids())[0] or not state.driver_spoke:
        return "after a review the driver has the next turn"
    return "the work was handed off before, and must be reviewed first" if state.handed_off else ""


def _roles(collab: Collab, options: ModeOptions) -> ParticipantRoles:
    return equal_roles(collab, options)._replace(output_by=collab.participants[-1].participant_id)


MODE = Mode(
    name="pair",
    summary="A driver works and a navigator reviews, until the navigator approves.",
    texts=TEXTS,
    ending=lambda _position: "when the navigator approves",
    position=pair_position,
    plan=plan,
    default_stop=_DEFAULT_STOP,
    refuses=refuse_hand_off,
    one_turn_each=True,
    has_navigator=True,
    roles=_roles,
)
