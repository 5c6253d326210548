"""Hand-offs outside a swarm: the ones that a mode takes, and the reasons why it refuses others. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ...models.protocol.roster import find_participants
from ...models.sessions.plan import RefusedHandOff, SessionView
from ...models.text.redact import excerpt
from ...models.turns.turn import TurnResult

#: Returns why a mode refuses a hand-off to the participants that its name may mean; empty: the hand-off is taken.
HandOffCheck = Callable[[SessionView, TurnResult, tuple[str, ...]], str]


def refuse_all(view: SessionView, _result: TurnResult, _connections: tuple[str, ...]) -> str:
    """Refuse every hand-off: the mode alone decides who speaks next."""
    return f"mode {view.mode.value} does not allow hand-offs"


def refuse_unless_one_other(_view: SessionView, result: TurnResult, to: tuple[str, ...]) -> str:
    """Take a hand-off to exactly one other participant."""
    if not to:
        return "no participant has this name"
    if len(to) > 1:
        return f"the name is ambiguous: {excerpt(', '.join(to))}"
    return "a participant cannot hand off to itself" if to[0] == result.participant else ""


def apply_check(
    view: SessionView, refuses: HandOffCheck
) -> tuple[tuple[TurnResult, ...], tuple[RefusedHandOff, ...]]:
    """Return the results with the taken hand-offs (by participant id), and the refused hand-offs."""
    results, refused = [], []
    for result in view.results:
        if result.hand_off is None:
            results.append(result)
            continue
        to = find_participants(result.hand_off, view.roster)
        reason = refuses(view, result, to)
        results.append(result.model_copy(update={"hand_off": None if reason else to[0]}))
        if reason:
            shown = excerpt(result.hand_off)
            refused.append(
                RefusedHandOff(number=result.number, participant=result.participant, to=shown, reason=reason)
            )
    return tuple(results), tuple(refused)
