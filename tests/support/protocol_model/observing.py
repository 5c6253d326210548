"""What the events of a call show: a state keeps their summary, because no script reads an event."""

from __future__ import annotations

from .server import Outcome
from .world import Step, World


def observe(step: Step, outcome: Outcome) -> tuple[World, list[str]]:
    """Return the world with the store that a call has left, and the rules that its events violate."""
    before = step.before
    if outcome.store is before.store and not (outcome.events or outcome.journal or step.is_report):
        return _with_answer(step, before, outcome), []
    grants, reported, broken = _observe_events(before, outcome)
    world = before._replace(
        store=outcome.store,
        grants=grants,
        reported=reported + _late_usage(outcome),
        spent=before.spent + step.is_report,
    )
    return _with_answer(step, world, outcome), broken


def _with_answer(step: Step, world: World, outcome: Outcome) -> World:
    """Return the world that knows which request has ended a wait, if the call did."""
    if step.call and step.call.verb == "parked/reply" and outcome.word in ("replied", "returned", "held"):
        args = dict(step.call.args)
        return world._replace(answered=world.answered | {(str(args["reply"]), str(args["request"]))})
    return world


def _observe_events(before: World, outcome: Outcome) -> tuple[frozenset[str], int, list[str]]:
    if not outcome.events:
        return before.grants, before.reported, []
    grants, reported, broken = set(before.grants), before.reported, []
    for event in outcome.events:
        token = event["payload"].get("token_id")
        if event["event_type"] == "MAPTurnDispatched":
            broken += [f"token {token} is dispatched a second time"] * (token in grants)
            grants.add(token)
        elif event["event_type"] == "MAPTurnCompleted":
            broken += [f"token {token} is completed without an open grant"] * (token not in grants)
            grants.discard(token)
            reported += event["payload"]["result"].get("usage", {}).get("input_tokens", 0)
    return frozenset(grants), reported, broken


def _late_usage(outcome: Outcome) -> int:
    late = [event["data"]["usage"] for event in outcome.journal if event["event_type"] == "turn.spent"]
    return sum(usage["input_tokens"] for usage in late)
