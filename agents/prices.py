"""Prices of models: those of the agents file, and those of the price list of genai-prices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field


class PriceEntry(BaseModel):
    """Prices in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    #: Price of input tokens that the provider had in its cache; None: the price of other input tokens.
    cached: float | None = Field(default=None, ge=0)
    #: Price of input tokens that the provider writes to its cache; None: the price of other input tokens.
    cache_write: float | None = Field(default=None, ge=0)
    #: Price of output tokens of thinking; None: the price of other output tokens.
    reasoning: float | None = Field(default=None, ge=0)


@lru_cache(maxsize=1_024)
def find_listed_price(name: str) -> PriceEntry | None:
    """Return the prices of a model in the price list; None: it is not listed. Raises ImportError: there is no list."""
    from genai_prices import Usage, calc_price

    # Few tokens, because long requests have other prices.
    try:
        price = calc_price(Usage(input_tokens=1_000, output_tokens=1_000), model_ref=name)
        cached = calc_price(Usage(input_tokens=1_000, cache_read_tokens=1_000), model_ref=name)
    except LookupError:
        return None
    amounts = {"input": price.input_price, "output": price.output_price, "cached": cached.input_price}
    return PriceEntry(**{field: float(amount) * 1_000 for field, amount in amounts.items()})


def listed_price(name: str) -> str | None:
    """Return the prices of a model in the price list in one line; None: it is not listed."""
    try:
        price = find_listed_price(name)
    except ImportError:  # such a process asks no model
        return "not read: genai-prices is not installed"
    return None if price is None else price_line(price.model_dump(exclude_none=True))


def price_line(amounts: Mapping[str, float]) -> str:
    """Return prices by their names in one line."""
    shown = ", ".join(f"{field} {amount:g}" for field, amount in amounts.items())
    return f"{shown} (US dollars per million tokens)"
