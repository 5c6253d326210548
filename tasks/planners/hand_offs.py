"""Hand-offs outside of a swarm: which of them a mode takes, and why it refuses the others. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ...models.plan import RefusedHandOff, SessionView
from ...models.roster import named
from ...models.shown import excerpt
from ...models.turn import TurnResult

#: Says why a mode refuses a hand-off to the participants that its name may mean; empty: it takes it.
Refuses = Callable[[SessionView, TurnResult, tuple[str, ...]], str]


def any_hand_off(view: SessionView, _result: TurnResult, _to: tuple[str, ...]) -> str:
    """Refuse every hand-off: the mode alone says who speaks next."""
    return f"the mode {view.mode.value} takes no hand-offs"


def all_but_to_one_other(_view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Take a hand-off to exactly one other participant."""
    if not to:
        return "no participant has this name"
    if len(to) > 1:
        return f"the name may mean {excerpt(', '.join(to))}"
    return "a participant cannot hand off to itself" if to[0] == result.participant else ""


def judge(view: SessionView, refuses: Refuses) -> tuple[tuple[TurnResult, ...], tuple[RefusedHandOff, ...]]:
    """Return the results with the hand-offs that are taken, by participant id, and the hand-offs that are refused."""
    results, refused = [], []
    for result in view.results:
        if result.hand_off is None:
            results.append(result)
            continue
        to = named(result.hand_off, view.roster)
        reason = refuses(view, result, to)
        results.append(result.model_copy(update={"hand_off": None if reason else to[0]}))
        if reason:
            shown = excerpt(result.hand_off)
            refused.append(
                RefusedHandOff(number=result.number, participant=result.participant, to=shown, reason=reason)
            )
    return tuple(results), tuple(refused)
