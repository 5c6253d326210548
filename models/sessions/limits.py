"""Spending limits of sessions and turns, and reservations of turns.

What the whole session may spend its stop conditions say (`TokenBudget`, `CostBudget`,
`MaxTurns`, `Deadline`). A turn that begins reserves the most it may spend, and settles what it
did spend when it closes, so turns side by side never overspend together.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..turns.turn import Frozen

_Tokens = Annotated[int, Field(ge=1, le=10**12)]
_Usd = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]

#: Tenant that a session is charged to: a team, a customer.
Tenant = Annotated[str, Field(max_length=100, pattern=r"^[\w.@:-]+$")]


class TurnLimits(Frozen):
    """Spending limits of one turn: a turn begins only if the session's limits leave that much."""

    #: Tokens, in and out.
    turn_tokens: _Tokens | None = None
    #: US dollars.
    turn_usd: _Usd | None = None


class SpendingBounds(Frozen):
    """Upper bounds on what an agent spends in one turn, as far as they are known."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None


class UnitReservation(Frozen):
    """Reservation request of a turn for one unit."""

    #: Limit of the whole session.
    limit: int
    #: Reserved when the turn begins; None: its share of the remainder, since its cost is unknown.
    most: int | None = None
    #: With less, and nothing to come back, the turn cannot begin.
    least: int = 1


class ReservationRequest(Frozen):
    """Reservation request of a turn for each limited unit."""

    tokens: UnitReservation | None = None
    #: In millionths of a US dollar.
    cost: UnitReservation | None = None


class DailyLimits(Frozen):
    """Limits of each tenant from one midnight (UTC) to the next; None: no limit."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None
    turns: int | None = None


class Rate(Frozen):
    """Rate limit of a model's provider per minute, and the demand of a turn."""

    #: The model's name in the registry.
    model: str
    requests: int | None = None
    tokens: int | None = None
    #: Tokens the turn is taken to ask for.
    turn_tokens: int = 0
