"""Rules that every step must follow, whichever planner made it."""

from __future__ import annotations

from ...models.sessions.plan import FLOOR_SCOPE, SessionView, Step


def check_step(view: SessionView, step: Step) -> None:
    """Refuse a step that would break the session.

    Raises:
        AssertionError: names the rule. It is a defect of the planner, never of the input.
    """
    people = set(view.ids())
    waiting = [turn for turn in view.open if turn.number not in step.drop]
    speakers = [t.participant for t in waiting] + [t.participant for t in step.turns]
    scopes = [t.scope for t in waiting] + [t.scope for t in step.turns]
    limit = None if view.turns_left is None else view.turns_left + len(view.open)
    rules = {
        "every speaker is a participant": people.issuperset(speakers),
        "no participant has two open turns": len(set(speakers)) == len(speakers),
        "no scope is locked twice": len(set(scopes)) == len(scopes),
        "an exclusive turn is the only open turn": FLOOR_SCOPE not in scopes or len(scopes) == 1,
        "only open turns are dropped": {turn.number for turn in view.open}.issuperset(step.drop),
        "no more turns than are left": limit is None or len(scopes) <= limit,
        "the step makes progress": bool(step.turns or view.open),
    }
    broken = [rule for rule, kept in rules.items() if not kept]
    if broken:
        raise AssertionError(
            f"the {view.mode} planner returned an invalid step; broken rules: {'; '.join(broken)}"
        )
