"""Dispatch of a session's turns to the queue; reservations of turns, and turns that may begin after a release.

The scripts do the accounting: `begin` grants and reserves in one step, and every end of a grant releases the
reservation. This module only decides which amounts to request and which turns to wake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...models.sessions.limits import ReservationRequest, SpendingBounds, TurnLimits, UnitReservation
from ...models.sessions.options import AgentBinding
from ...models.sessions.stop_conditions import StopReason
from ...models.text.words import dollars
from ...models.turns.turn import RemainingBudget
from ...state.sessions.records import SessionState, Shortfall
from ...state.sessions.turn_records import NOTHING, TurnRecord
from ..runtime.graph import TaskGraph, TurnCall, ignore_broker_outage
from ..views.session_views import SessionFacts

if TYPE_CHECKING:
    from ...agents.registry.registry import Registry


#: Divisor of the least reservation: a turn without a declared cost reserves at least this part of what its
#: agent may spend.
LEAST_PART = 10

_CODES = {"tokens": "token_budget", "cost": "cost_budget"}


def reservation_request(
    registry: Registry, facts: SessionFacts, candidates: Sequence[AgentBinding]
) -> ReservationRequest | None:
    """Return the reservation of a turn for any of `candidates`; None in a session without limits."""
    session, turn = facts.limits, facts.spec.limits
    if not facts.has_budget:
        return None
    most = max_turn_spend(turn, [registry.spending_bound(candidate) for candidate in candidates])
    return ReservationRequest(
        tokens=_want(session.tokens, most.tokens, must=turn.turn_tokens is not None),
        cost=_want(session.cost_micros, most.cost_micros, must=turn.turn_usd is not None),
    )


def max_turn_spend(declared: TurnLimits, spends: Sequence[SpendingBounds]) -> SpendingBounds:
    """Return the most that a turn spends with any agent: the declared amount, or a lower known bound."""
    usd = declared.turn_usd
    return SpendingBounds(
        tokens=_most(declared.turn_tokens, [spend.tokens for spend in spends]),
        cost_micros=_most(None if usd is None else round(usd * 1e6), [spend.cost_micros for spend in spends]),
    )


def _most(declared: int | None, reported: Sequence[int | None]) -> int | None:
    amounts = [amount for amount in reported if amount is not None]
    if len(amounts) < len(reported):
        return declared
    return max(amounts) if declared is None else min(declared, max(amounts))


def _want(limit: int | None, most: int | None, *, must: bool) -> UnitReservation | None:
    """Return the amount of a unit to request.

    A declared amount must fit. The bound of an agent's entry may be reduced, because few turns reach it.
    """
    if limit is None:
        return None
    if most is None:
        return UnitReservation(limit=limit)
    return UnitReservation(limit=limit, most=most, least=most if must else -(-most // LEAST_PART))


def shortfall_reason(lack: Shortfall, participant: str) -> StopReason:
    """Return the stop reason of a session whose next turn can never begin."""
    left, wanted = format_amount(lack.unit, lack.left), format_amount(lack.unit, lack.wanted)
    detail = f"{left} left, but a turn of {participant} may use {wanted}"
    return StopReason(code=_CODES[lack.unit], detail=detail, broke=True)


def format_amount(unit: str, number: int) -> str:
    """Format a number of units for people."""
    return dollars(number) if unit == "cost" else f"{number:,} {unit}"


def affordable_turns(limits: RemainingBudget, state: SessionState) -> Iterator[int]:
    """Yield the numbers of turns that wait for budget, in order, as far as the budget now allows.

    If no turn has a reservation, the first turn is always included: its reservation is cut to what is
    left, or it ends the session.
    """
    waiting = [(turn.number, turn.short) for turn in state.open_turns() if turn.short is not None]
    if not waiting:
        return
    held = [turn.reserved for turn in state.open_turns()]
    tokens = _left(limits.tokens, state.usage.tokens, (reservation.tokens for reservation in held))
    cost = _left(limits.cost_micros, state.usage.cost_micros, (reservation.cost for reservation in held))
    is_first = not any(turn.status == "speaking" or turn.reserved != NOTHING for turn in state.open_turns())
    for number, wanted in waiting:
        tokens, cost = tokens - wanted.tokens, cost - wanted.cost
        if not is_first and min(tokens, cost) < 0:
            return
        yield number
        is_first = False


def _left(limit: int | None, spent: int, held: Iterable[int]) -> float:
    return float("inf") if limit is None else limit - spent - sum(held)


def dispatch_turns(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """Send turns to the queue, like `send_turns`; during a broker outage the sweep sends them later."""
    with ignore_broker_outage(facts.session_id):
        send_turns(graph, facts, state, numbers, parent=parent)


def send_turns(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """Send turns to the queue; without `parent`, as children of the Celery task that planned each.

    Raises:
        OperationalError: The broker does not answer.
    """
    by_parent: dict[str, list[TurnCall]] = {}
    for number in numbers:
        record = state.records[number]
        planner = parent or record.parent or facts.session_id
        by_parent.setdefault(planner, []).append(turn_call(facts, record))
    for planner, calls in by_parent.items():
        graph.send_turns(calls, parent=planner, sent_ms=state.now_ms)


def turn_call(facts: SessionFacts, record: TurnRecord) -> TurnCall:
    """Return the content of the message of a turn."""
    binding = facts.spec.agents.get(record.participant)
    current = binding and binding.with_agent(record.agent)
    agent, queue = (current.agent, current.queue or "") if current else (record.agent or "", "")
    return TurnCall(
        facts.session_id,
        record.number,
        record.participant,
        facts.collab.mode,
        record.scope,
        agent,
        queue=queue,
        share=facts.spec.share,
    )


def resend_all(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Send again all messages that an active session may wait for; running turns answer `busy`."""
    with ignore_broker_outage(facts.session_id):
        send_turns(graph, facts, state, [turn.number for turn in state.open_turns()])
        graph.send_advance(facts.session_id, sent_ms=state.now_ms, share=facts.spec.share)


def redispatch_waiting(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Send again turns that waited for budget, as many as the budget now allows."""
    if facts.has_budget:
        dispatch_turns(graph, facts, state, affordable_turns(facts.limits, state))
