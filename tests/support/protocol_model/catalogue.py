"""The scenarios that are explored, each with bounds small enough to visit all of its states."""

from __future__ import annotations

from dataclasses import replace

from .scenario import Budget, Scenario

_FLOOR = ("floor",)
_SIDE_BY_SIDE = ("slot:ann", "slot:bob")
#: One fault of any kind.
_ONE = Budget(faults=1, crashes=1, lost_answers=1, copies=1, expiries=1)
#: One fault, but no copied message and no frozen worker.
_LOST = Budget(faults=1, crashes=1, lost_answers=1)
#: Two faults of the same kind or of two kinds.
_TWO = Budget(faults=2, crashes=2, lost_answers=2, copies=2, expiries=2)
_PAUSE = ("suspend", "resume")

SCENARIOS = (
    Scenario("two turns", (_FLOOR, _FLOOR), _TWO),
    Scenario("claimed turns", (_FLOOR, _FLOOR), _TWO, claims=True),
    Scenario("claimed turn beside others", (_SIDE_BY_SIDE, _FLOOR), _ONE, first_wins=True, claims=True),
    Scenario("claimed turn, suspended", (_FLOOR, _FLOOR), _ONE, operator=_PAUSE, claims=True),
    Scenario("claimed turn, deadline", (_FLOOR, _FLOOR), _ONE, has_deadline=True, claims=True),
    Scenario("claimed turn, steered", (_FLOOR, _FLOOR), _ONE, operator=("steer",), claims=True),
    Scenario("claimed turn, failed attempt", (_FLOOR, _FLOOR), _ONE._replace(failures=1), claims=True),
    Scenario("failed attempt", (_FLOOR,), _TWO._replace(failures=1)),
    Scenario("suspended and cancelled", (_FLOOR, _FLOOR), _ONE, operator=_PAUSE, is_cancelled=True),
    Scenario("side by side", (_SIDE_BY_SIDE, _FLOOR), _ONE),
    Scenario("side by side, suspended", (_SIDE_BY_SIDE,), _ONE, operator=_PAUSE),
    Scenario("one of two turns is dropped", (_SIDE_BY_SIDE, _FLOOR), _ONE, first_wins=True),
    Scenario("limited tokens", (_SIDE_BY_SIDE, _FLOOR), _ONE, limit=2),
    Scenario(
        "limited tokens, question",
        (_FLOOR,),
        _LOST._replace(questions=1, failures=1),
        people=("answer",),
        limit=2,
    ),
    Scenario("deadline", (_FLOOR, _FLOOR), _ONE, has_deadline=True),
    Scenario("question to two people", (_FLOOR,), _ONE._replace(questions=1), people=("answer", "return")),
    Scenario(
        "question to another person",
        (_FLOOR,),
        _ONE._replace(questions=1, reassignments=1),
        people=("answer",),
    ),
    Scenario(
        "question, suspended", (_FLOOR,), _LOST._replace(questions=1), people=("answer",), operator=_PAUSE
    ),
    Scenario(
        "question, stopped", (_FLOOR,), _LOST._replace(questions=1), people=("answer",), operator=("stop",)
    ),
    Scenario("stopped", (_SIDE_BY_SIDE, _FLOOR), _ONE, operator=("stop",)),
    Scenario(
        "question, cancelled", (_FLOOR,), _LOST._replace(questions=1), people=("answer",), is_cancelled=True
    ),
    Scenario("posts", (_FLOOR, _FLOOR), _ONE, operator=("post", "post")),
    Scenario(
        "posts, suspended and cancelled",
        (_FLOOR,),
        _LOST,
        operator=("suspend", "post", "resume"),
        is_cancelled=True,
    ),
    Scenario("agent of no worker", (_FLOOR,), _ONE._replace(failures=1, strangers=2)),
    Scenario("draft", (_FLOOR,), _ONE, operator=("post", "activate", "activate"), is_cancelled=True),
    Scenario("steered", (_FLOOR, _FLOOR), _ONE, operator=("steer", "steer")),
)

#: Small bounds, explored within a second each.
QUICK = (
    Scenario("one turn", (_FLOOR,), _ONE),
    Scenario("one turn, suspended", (_FLOOR,), Budget(), operator=_PAUSE),
    Scenario("question", (_FLOOR,), Budget(questions=1), workers=1, people=("answer",)),
)


def scenario_named(name: str) -> Scenario:
    """Return a scenario by its name.

    Raises:
        ValueError: There is none of this name.
    """
    known = {scenario.name: scenario for scenario in (*SCENARIOS, *QUICK)}
    if name not in known:
        raise ValueError(f"unknown scenario {name!r}, expected one of {sorted(known)}")
    return known[name]


def with_faults(scenario: Scenario, faults: int) -> Scenario:
    """Return the scenario with up to `faults` faults of each kind that it has, and of all together."""
    kinds = ("crashes", "lost_answers", "copies", "expiries")
    counts = {kind: faults for kind in kinds if getattr(scenario.budget, kind)}
    return replace(scenario, budget=scenario.budget._replace(faults=faults, **counts))
