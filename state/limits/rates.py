"""Request rates of models per minute, over all workers: the limits of providers.

The last sixty seconds of each limited model are kept, second by second. The estimate that
admitted a turn is corrected after the turn has closed.
"""

from __future__ import annotations

from dataclasses import dataclass

from redis import Redis

from ...models.sessions.limits import Rate
from ...models.turns.turn import Usage
from ..redis.keys import rate_key
from ..redis.scripts import ScriptValue, call_script


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission for a turn to call a model; it is settled when the real usage is known."""

    model: str
    second: int
    tokens: int


class RateLimiter:
    """Rate limits of all models."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def admit(self, rate: Rate) -> Permit | int:
        """Grant a model request, or return the milliseconds to wait."""
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
        """Correct the admission to the real usage; without any usage, return the permit."""
        args: dict[str, ScriptValue] = {
            "second": permit.second,
            "requests": usage.requests - 1,
            "tokens": usage.tokens - permit.tokens,
        }
        call_script(self._client, "limits/correct_request", [rate_key(permit.model)], args)
