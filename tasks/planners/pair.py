"""Pair: a driver works, a navigator reviews, strictly in turn, until the navigator approves.

The first of the roster drives. A round is one piece of work and its review.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from ...models.plan import Finish, Plan, PlannedTurn, SessionView, Step, Wait
from ...models.stop import MaxRounds, StopCondition
from ...models.turn import Expects, Frozen

DEFAULT_STOP: StopCondition = MaxRounds(5)


class _Memory(Frozen):
    driver_spoke: bool = False


def plan(view: SessionView) -> Plan:
    """Driver, navigator, driver, ...; a pass or a skipped turn approves nothing."""
    if view.open:
        return Wait()
    driver, navigator = view.ids()
    for result in view.results:
        verdict = result.decision
        if result.participant == navigator and verdict and verdict.satisfied:
            return Finish(reason="approved", detail=verdict.reason or f"{navigator} approved")
    if _Memory.model_validate(view.state).driver_spoke:
        review = PlannedTurn(participant=navigator, expects=Expects.REVIEW)
        return Step(turns=(review,), state={"driver_spoke": False}, ends_round=True)
    return Step(turns=(PlannedTurn(participant=driver),), state={"driver_spoke": True})
