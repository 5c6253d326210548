"""Limits on what sessions and turns may spend, and what a turn wishes to have set aside for it.

What the whole session may spend its stop conditions say (`TokenBudget`, `CostBudget`,
`MaxTurns`, `Deadline`). A turn that begins reserves the most it may spend, and settles what it
did spend when it closes, so turns side by side never overspend together.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .turn import Frozen

_Tokens = Annotated[int, Field(ge=1, le=10**12)]
_Usd = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]

#: On whose account a session runs: a team, a customer.
Tenant = Annotated[str, Field(max_length=100, pattern=r"^[\w.@:-]+$")]


class TurnLimits(Frozen):
    """What one turn may spend at most: no turn begins before that much is left of the session's limits."""

    #: Tokens, in and out.
    turn_tokens: _Tokens | None = None
    #: US dollars.
    turn_usd: _Usd | None = None


class Most(Frozen):
    """The most a seat's agent spends in one turn, as far as that is known."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None


class Want(Frozen):
    """What a turn wants of one unit."""

    #: What the whole session may spend.
    limit: int
    #: Set aside when the turn begins; None: its share of what is left, since nobody knows what it spends.
    most: int | None = None
    #: With less, and nothing to come back, the turn cannot begin.
    least: int = 1


class Wish(Frozen):
    """What a turn wants of each unit that is limited."""

    tokens: Want | None = None
    #: In millionths of a US dollar.
    cost: Want | None = None


class DailyLimits(Frozen):
    """What each tenant may spend from one midnight (UTC) to the next; None: no limit."""

    tokens: int | None = None
    #: Millionths of a US dollar.
    cost_micros: int | None = None
    turns: int | None = None


class Rate(Frozen):
    """What a model's provider takes a minute, and what a turn asks of it."""

    #: The model's name in the registry.
    model: str
    requests: int | None = None
    tokens: int | None = None
    #: Tokens the turn is taken to ask for.
    turn_tokens: int = 0
