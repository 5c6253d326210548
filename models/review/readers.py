"""The models that read the items of a review: what decides how much of an item fits in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from ..turns.frozen import Frozen
from .panels import Panel


class ReaderModel(Frozen):
    """A registered model agent, as workers announce it."""

    #: Name of the model.
    model: str = ""
    #: Changes with every setting of the agent that may change its answers.
    identity: str = ""
    #: Maximum tokens of the dialog in a request.
    context_tokens: Annotated[int, Field(ge=1)] = 16_000
    #: US dollars per million tokens; None: not in the registry.
    input_usd_per_million: float | None = None
    output_usd_per_million: float | None = None


def readers_of(
    panel: Panel, models: Mapping[str, ReaderModel], *, known_agents: Iterable[str] = ()
) -> dict[str, ReaderModel]:
    """Return the models in the seats of a panel, by name of the seat.

    Args:
        panel: A panel with an agent in every seat.
        models: The announced model agents by name.
        known_agents: All announced agents. An agent in a seat for a model that is not announced counts as a model.
    """
    known = frozenset(known_agents)
    return {
        seat.name: models.get(seat.agent, ReaderModel())
        for seat in panel.seats
        if seat.agent and (seat.agent in models or (seat.model and seat.agent not in known))
    }


def smallest_window(readers: Mapping[str, ReaderModel]) -> int:
    """Return the tokens that fit in a request to each of the models; at least one is required."""
    return min(it.context_tokens for it in readers.values())
