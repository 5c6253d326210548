"""Models without a price: what they cost would count as 0, and a cost budget would never end their session."""

from __future__ import annotations

from functools import lru_cache

from .entries import ModelEntry

#: What to do about it.
ADVICE = "set input_usd_per_million and output_usd_per_million in its [models] table, 0 for a free model"


def lacks_price(model: ModelEntry) -> bool:
    """Return whether neither the agents file nor the price list has the price of a model."""
    if model.input_usd_per_million is not None or model.output_usd_per_million is not None:
        return False
    return not _is_listed(model.model if model.base_url else model.model.partition(":")[2])


@lru_cache(maxsize=1_024)
def _is_listed(name: str) -> bool:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:  # such a process asks no model
        return True
    try:
        calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=name)
    except LookupError:
        return False
    return True
