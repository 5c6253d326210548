"""Registered agents as workers announce them: names, and the facts that a submission needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field

from ..turns.frozen import Frozen

#: What to do about a model without a price: its cost would count as 0, and a cost budget would never end its session.
PRICE_ADVICE = (
    "add `price = {input = ..., output = ..., cached = ...}` (US dollars per million tokens) to its [models] table,"
    " 0 for a free model"
)


#: Providers whose models have a batch API here.
BATCH_PROVIDERS = ("anthropic", "google", "openai", "openai-responses")


class KnownAgents(frozenset[str]):
    """Names of agents.

    Attributes:
        people: Those of kind human.
        built_in: Those that no agents file or code replaced.
        unpriced: Those with a model that has no price.
    """

    people: frozenset[str]
    built_in: frozenset[str]
    unpriced: frozenset[str]

    def __new__(
        cls,
        names: Iterable[str] = (),
        *,
        people: Iterable[str] = (),
        built_in: Iterable[str] = (),
        unpriced: Iterable[str] = (),
    ) -> Self:
        """Make the set of `names`."""
        agents = super().__new__(cls, names)
        agents.people, agents.built_in = frozenset(people), frozenset(built_in)
        agents.unpriced = frozenset(unpriced)
        return agents

    @classmethod
    def read(cls, names: Iterable[str]) -> Self:
        """Return `names` as such a set; of plain names nothing else is known."""
        return names if isinstance(names, cls) else cls(names)

    @classmethod
    def of_any(cls, sets: Iterable[KnownAgents]) -> Self:
        """Return what any set has; as people and as built in, what no set has in another way."""
        sets = tuple(sets)
        other_people = {name for agents in sets for name in agents - agents.people}
        replaced = {name for agents in sets for name in agents - agents.built_in}
        return cls(
            {name for agents in sets for name in agents},
            people={name for agents in sets for name in agents.people} - other_people,
            built_in={name for agents in sets for name in agents.built_in} - replaced,
            unpriced={name for agents in sets for name in agents.unpriced},
        )


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
    #: What a request in a batch of the provider costs, as a share of these prices. Left out if it is the default.
    batch_price_share: float = Field(default=0.5, exclude_if=lambda share: share == 0.5)

    @property
    def has_batch_api(self) -> bool:
        """Return whether its provider has a batch API; True if the model is not known."""
        return not self.model or self.model.partition(":")[0] in BATCH_PROVIDERS

    def in_batches(self) -> Self:
        """Return the model with the prices of requests in batches."""
        prices = {
            name: price * self.batch_price_share
            for name in ("input_usd_per_million", "output_usd_per_million")
            if (price := getattr(self, name)) is not None
        }
        return self.model_copy(update=prices)

    @property
    def is_priced(self) -> bool:
        """Return whether its price is known."""
        return self.input_usd_per_million is not None or self.output_usd_per_million is not None
