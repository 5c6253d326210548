"""The models that read the items of a review: what decides how much of an item fits in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...models.sessions.known_agents import ReaderModel
from .panels import Panel


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
