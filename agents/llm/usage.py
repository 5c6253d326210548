"""Cost of a model's answer: tokens as counted by the provider, money by the registry's prices or the price list."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model

from ...models.turns.turn import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, which are micro-dollars per token."""

    input: float = 0.0
    output: float = 0.0
    #: Of input tokens that the provider had in its cache; None: as much as any other.
    cached: float | None = None

    def cost_micros(self, usage: Usage) -> int:
        """Millionths of a US dollar."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input_tokens - usage.cached_tokens
        return round(fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output)


@dataclass(frozen=True, slots=True)
class PricedModel:
    """A model that can be asked, and its price where the registry gives one."""

    model: Model
    price: Price | None = None
    #: What the registry calls it.
    entry: str = ""


def usage_of(response: ModelResponse, price: Price | None) -> Usage:
    """What one answer cost; without a price of the registry or the price list, no money."""
    told = response.usage
    spent = Usage(
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        cached_tokens=min(told.cache_read_tokens, told.input_tokens),
        requests=1,
    )
    micros = int((told.cost or Decimal(0)) * 1_000_000) if price is None else price.cost_micros(spent)
    return spent.model_copy(update={"cost_micros": micros})
