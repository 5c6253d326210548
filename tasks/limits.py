"""What turns set aside of a session's limits, and who may begin once some of it comes back. Pure.

The books are kept by the scripts: `begin` reserves in the same instant in which it grants,
and whatever ends a grant gives back. Here is decided only what to ask for, and whom to wake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from ..agents.registry import Registry
from ..models.limits import Want, Wish
from ..models.options import AgentBinding
from ..models.stop import StopReason
from ..models.turn import Budget
from ..state.records import Lack, SessionState
from .view import SessionFacts

#: A turn that was not declared begins with no less than this part of what its agent may spend.
LEAST_PART = 10

_CODES = {"tokens": "token_budget", "cost": "cost_budget"}


def wish_of(registry: Registry, facts: SessionFacts, seats: Sequence[AgentBinding]) -> Wish | None:
    """What a turn asks for, whoever of `seats` takes it; None in a session without limits."""
    session, turn = facts.limits, facts.spec.limits
    if session.tokens is None and session.cost_micros is None:
        return None
    spends = [registry.most(seat) for seat in seats]
    usd = turn.turn_usd
    return Wish(
        tokens=_want(session.tokens, turn.turn_tokens, map(attrgetter("tokens"), spends)),
        cost=_want(
            session.cost_micros,
            None if usd is None else round(usd * 1e6),
            map(attrgetter("cost_micros"), spends),
        ),
    )


def _want(limit: int | None, declared: int | None, known: Iterable[int | None]) -> Want | None:
    """What is declared must fit. What an agent's entry says is an upper bound that few turns reach: it may be cut."""
    if limit is None:
        return None
    amounts = list(known)
    most = None if None in amounts else max(amount or 0 for amount in amounts)
    if declared is None:
        return Want(limit=limit, most=most, least=1 if most is None else -(-most // LEAST_PART))
    must = declared if most is None else min(declared, most)
    return Want(limit=limit, most=must, least=must)


def want_of_means(lack: Lack, participant: str) -> StopReason:
    """Why a session ends whose next turn can never begin."""
    left, wanted = lack.left, lack.wanted
    shown = f"{left:,} tokens are" if lack.unit == "tokens" else f"{left / 1e6:,.6g} US dollars are"
    needs = f"{wanted:,}" if lack.unit == "tokens" else f"{wanted / 1e6:,.6g}"
    detail = f"{shown} left, and a turn of {participant} may take {needs}"
    return StopReason(code=_CODES[lack.unit], detail=detail, broke=True)


def affordable(limits: Budget, state: SessionState) -> Iterator[int]:
    """Numbers of the turns that wait for means, in their order, as far as the means go now.

    When nothing is set aside for anybody, the first of them is among these in any case: it is cut
    to what is left, or ends the session.
    """
    waiting = [(turn.number, turn.short) for turn in state.open_turns() if turn.short is not None]
    if not waiting:
        return
    held = [turn.reserved for turn in state.open_turns()]
    tokens = _left(limits.tokens, state.usage.tokens, (it.tokens for it in held))
    cost = _left(limits.cost_micros, state.usage.cost_micros, (it.cost for it in held))
    is_first = not any(turn.status == "speaking" for turn in state.open_turns())
    for number, wanted in waiting:
        tokens, cost = tokens - wanted.tokens, cost - wanted.cost
        if not is_first and min(tokens, cost) < 0:
            return
        yield number
        is_first = False


def _left(limit: int | None, spent: int, held: Iterable[int]) -> float:
    return float("inf") if limit is None else limit - spent - sum(held)
