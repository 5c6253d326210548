"""Limits across sessions: rate limits of models per minute, and daily usage of tenants.

Each model and each tenant has its own cluster slot. A turn is checked before it begins, and its actual
usage is booked afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from redis import Redis

from ..models.sessions.limits import DailyLimits, Rate, SpendingBounds
from ..models.turns.turn import MAX_SPENT, Usage
from .redis.keys import rate_key, tenant_keys
from .redis.readers import server_ms
from .redis.scripts import ScriptValue, call_script
from .sessions.records import Shortfall


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission for a turn to call a model, corrected when the actual usage is known."""

    model: str
    second: int
    tokens: int


class RateLimiter:
    """Rate limits of all models."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def admit(self, rate: Rate) -> Permit | int:
        """Return a permit for a model request, or the milliseconds to wait."""
        args: dict[str, ScriptValue] = {
            "requests_a_minute": rate.requests or "",
            "tokens_a_minute": rate.tokens or "",
            "tokens": rate.turn_tokens,
        }
        word, value = call_script(self._client, "limits/admit_request", [rate_key(rate.model)], args)
        if word == "later":
            return int(value)
        taken = min(rate.turn_tokens, rate.tokens) if rate.tokens else rate.turn_tokens
        return Permit(rate.model, int(value), taken)

    def record_usage(self, permit: Permit, usage: Usage) -> None:
        """Correct the counters to the actual usage; without any usage, the permit is released."""
        args: dict[str, ScriptValue] = {
            "second": permit.second,
            "requests": usage.requests - 1,
            "tokens": usage.tokens - permit.tokens,
        }
        call_script(self._client, "limits/correct_request", [rate_key(permit.model)], args)


#: Reservation of a turn without a known bound, in tokens and in millionths of a US dollar.
UNKNOWN_TOKENS, UNKNOWN_COST = 4_000, 50_000


@dataclass(frozen=True, slots=True)
class TenantUsage:
    """Usage of a tenant today."""

    tokens: int = 0
    cost_micros: int = 0
    turns: int = 0


class ReservationAction(StrEnum):
    """Treatment of a turn's reservation."""

    #: Release it.
    RELEASE = "release"
    #: Keep the rest for the turn's next attempt.
    KEEP = "keep"
    #: Do not change it: another attempt holds it now, or it expires.
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Settlement:
    """Usage of one attempt of a turn, with the treatment of its reservation."""

    #: Id of the settlement, so that a repeated call is not counted twice.
    request: str
    usage: Usage
    #: Number of written turns.
    turns: int = 0
    action: ReservationAction = ReservationAction.RELEASE
    #: Milliseconds for which the reservation is kept for the next attempt.
    keep_ms: int = 0


class TenantAccounts:
    """Usage accounts of all tenants."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def reserve(
        self, tenant: str, reservation: str, most: SpendingBounds, *, limits: DailyLimits, expires_in_ms: int
    ) -> str | Shortfall:
        """Reserve the maximum usage of a turn; return `reserved`, `found`, `short`, or the exhausted limit of today.

        `found`: the reservation of an earlier attempt was filled up.
        """
        args: dict[str, ScriptValue] = {
            "id": reservation,
            "expires_in_ms": expires_in_ms,
            "tokens": UNKNOWN_TOKENS if most.tokens is None else most.tokens,
            "cost": UNKNOWN_COST if most.cost_micros is None else most.cost_micros,
            "limit_tokens": _format_limit(limits.tokens),
            "limit_cost": _format_limit(limits.cost_micros),
            "limit_turns": _format_limit(limits.turns),
        }
        word, *lack = call_script(self._client, "limits/reserve_for_tenant", tenant_keys(tenant), args)
        return Shortfall(*lack) if word == "exhausted" else str(word)

    def book_usage(self, tenant: str, reservation: str, settlement: Settlement) -> None:
        """Book the usage once per settlement, and treat the reservation as the settlement says.

        A repeated call changes nothing.
        """
        args: dict[str, ScriptValue] = {
            "id": reservation,
            "request": settlement.request,
            "tokens": min(settlement.usage.tokens, MAX_SPENT),
            "cost": min(settlement.usage.cost_micros, MAX_SPENT),
            "turns": settlement.turns,
            "fate": settlement.action.value,
            "keep_ms": settlement.keep_ms,
        }
        call_script(self._client, "limits/book_for_tenant", tenant_keys(tenant), args)

    def read_usage_today(self, tenant: str) -> TenantUsage:
        """Return the usage of a tenant today (UTC), without running turns."""
        books, _ = tenant_keys(tenant)
        values = self._client.hmget(books, ["day", "tokens", "cost", "turns"])
        day, *spent = (int(value or 0) for value in cast("list[str | None]", values))
        return TenantUsage(*spent) if day == server_ms(self._client) // 86_400_000 else TenantUsage()


def _format_limit(limit: int | None) -> ScriptValue:
    return "" if limit is None else limit
