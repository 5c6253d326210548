"""Pair: a driver works and a navigator reviews, strictly in turn, until the navigator approves.

The first participant of the roster is the driver. A round is one piece of work and its review.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from ...models.sessions.plan import Finish, Plan, PlannedTurn, SessionView, Step, Wait
from ...models.sessions.stop_conditions import MaxRounds, StopCondition
from ...models.turns.turn import Expects, Frozen
from .mode import Demo, Mode

_DEFAULT_STOP: StopCondition = MaxRounds(5)


class _PlannerState(Frozen):
    driver_spoke: bool = False


def plan(view: SessionView) -> Plan:
    """Plan driver and navigator in turn, until the navigator approves.

    A passed or skipped turn is no approval.
    """
    if view.open:
        return Wait()
    driver, navigator = view.ids()
    for result in view.results:
        verdict = result.decision
        if result.participant == navigator and verdict and verdict.satisfied:
            return Finish(reason="approved", detail=verdict.reason or f"{navigator} approved")
    if _PlannerState.model_validate(view.state).driver_spoke:
        review = PlannedTurn(participant=navigator, expects=Expects.REVIEW)
        return Step(turns=(review,), state={"driver_spoke": False}, ends_round=True)
    return Step(turns=(PlannedTurn(participant=driver),), state={"driver_spoke": True})


MODE = Mode(
    name="pair",
    summary="A driver works and a navigator reviews, until the navigator approves.",
    prompt="You work as a pair: one drives, the other navigates and reviews.",
    plan=plan,
    default_stop=_DEFAULT_STOP,
    one_turn_each=True,
    demo=Demo(
        title="A line above the door",
        purpose="Write one line that stands above the library's door.",
        replies={
            "cleo": (
                "Every reader is welcome here, at every hour of the day, and nobody is ever asked why they came.",
                "Come in. Nobody asks why.",
            ),
            "reviewer": (),
        },
        scripted=("reviewer",),
        stop={"max_rounds": 3},
    ),
)
