"""Registered agents as workers announce them: their names, with what a submission must know of them besides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field

from ..turns.frozen import Frozen


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
        known = super().__new__(cls, names)
        known.people, known.built_in = frozenset(people), frozenset(built_in)
        known.unpriced = frozenset(unpriced)
        return known

    @classmethod
    def read(cls, names: Iterable[str]) -> Self:
        """Return `names` as such a set; of plain names nothing else is known."""
        return names if isinstance(names, cls) else cls(names)

    @classmethod
    def of_any(cls, sets: Iterable[KnownAgents]) -> Self:
        """Return what any set has; as people and as built in, what no set has in another way."""
        sets = tuple(sets)
        other_people = {name for it in sets for name in it - it.people}
        replaced = {name for it in sets for name in it - it.built_in}
        return cls(
            {name for it in sets for name in it},
            people={name for it in sets for name in it.people} - other_people,
            built_in={name for it in sets for name in it.built_in} - replaced,
            unpriced={name for it in sets for name in it.unpriced},
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
