"""How much is asked of each model a minute, by all workers together: what providers limit.

The last sixty seconds of each limited model are kept, second by second. The estimate with
which a turn is admitted is put right when it has closed.
"""

from __future__ import annotations

from dataclasses import dataclass

from redis import Redis

from ..models.limits import Rate
from ..models.turn import Usage
from .keys import rate_key
from .scripts import call, type_value


@dataclass(frozen=True, slots=True)
class Permit:
    """A turn may ask a model; to be settled when it is known what it asked."""

    model: str
    second: int
    tokens: int


class RateBook:
    """The minutes of all models."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def admit(self, rate: Rate) -> Permit | int:
        """Lets a turn ask its model, or tells in how many milliseconds to come back."""
        args: dict[str, type_value] = {
            "requests_a_minute": rate.requests or "",
            "tokens_a_minute": rate.tokens or "",
            "tokens": rate.turn_tokens,
        }
        word, value = call(self._client, "rate_admit", [rate_key(rate.model)], args)
        if word == "later":
            return int(value)
        taken = min(rate.turn_tokens, rate.tokens) if rate.tokens else rate.turn_tokens
        return Permit(rate.model, int(value), taken)

    def settle(self, permit: Permit, usage: Usage) -> None:
        """Puts right what was admitted; without any usage, the permit is given back."""
        args: dict[str, type_value] = {
            "second": permit.second,
            "requests": usage.requests - 1,
            "tokens": usage.tokens - permit.tokens,
        }
        call(self._client, "rate_settle", [rate_key(permit.model)], args)
