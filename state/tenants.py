"""What each tenant spends today, and what is set aside for turns under way: one hash a tenant, in a slot of its own.

No script can change it together with a session, so it is kept beside it: reserved before a turn
begins, settled after it has closed. What a worker that dies had reserved expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from redis import Redis

from ..models.limits import DailyLimits, Most
from ..models.turn import MOST_SPENT, Usage
from .clock import server_ms
from .keys import tenant_keys
from .records import Lack
from .scripts import call, type_value

#: What a turn sets aside of which nobody knows what it may spend.
UNKNOWN_TOKENS, UNKNOWN_COST = 4_000, 50_000


@dataclass(frozen=True, slots=True)
class Spent:
    """A tenant's day so far."""

    tokens: int = 0
    cost_micros: int = 0
    turns: int = 0


class Fate(StrEnum):
    """What becomes of what a turn has set aside."""

    #: It is given back.
    RELEASE = "release"
    #: What is left of it is kept for the turn's next attempt.
    KEEP = "keep"
    #: Another attempt has it by now, or it expires.
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What one attempt of a turn has spent."""

    #: Tells the same settlement sent again from another one.
    request: str
    usage: Usage
    #: Turns that were written.
    turns: int = 0
    fate: Fate = Fate.RELEASE
    #: How long the next attempt has its reservation kept.
    keep_ms: int = 0


class TenantBooks:
    """The books of all tenants."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def reserve(
        self, tenant: str, reservation: str, most: Most, *, limits: DailyLimits, expires_in_ms: int
    ) -> str | Lack:
        """Sets aside what a turn may spend: `reserved`, `short`, or what there is nothing left of today.

        Of what an attempt of it before has left there, what lacks is added: `found`.
        """
        args: dict[str, type_value] = {
            "id": reservation,
            "expires_in_ms": expires_in_ms,
            "tokens": UNKNOWN_TOKENS if most.tokens is None else most.tokens,
            "cost": UNKNOWN_COST if most.cost_micros is None else most.cost_micros,
            "limit_tokens": _shown(limits.tokens),
            "limit_cost": _shown(limits.cost_micros),
            "limit_turns": _shown(limits.turns),
        }
        word, *lack = call(self._client, "tenant_reserve", tenant_keys(tenant), args)
        return Lack(*lack) if word == "exhausted" else str(word)

    def settle(self, tenant: str, reservation: str, settlement: Settlement) -> None:
        """Books what was spent, once, however often it is called, and does with the rest as the settlement says."""
        args: dict[str, type_value] = {
            "id": reservation,
            "request": settlement.request,
            "tokens": min(settlement.usage.tokens, MOST_SPENT),
            "cost": min(settlement.usage.cost_micros, MOST_SPENT),
            "turns": settlement.turns,
            "fate": settlement.fate.value,
            "keep_ms": settlement.keep_ms,
        }
        call(self._client, "tenant_settle", tenant_keys(tenant), args)

    def today(self, tenant: str) -> Spent:
        """What a tenant has spent today (UTC), turns under way left out."""
        books, _ = tenant_keys(tenant)
        values = self._client.hmget(books, ["day", "tokens", "cost", "turns"])
        day, *spent = (int(value or 0) for value in cast("list[str | None]", values))
        return Spent(*spent) if day == server_ms(self._client) // 86_400_000 else Spent()


def _shown(limit: int | None) -> type_value:
    return "" if limit is None else limit
