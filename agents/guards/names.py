"""Names of guards that agents use: each must be a table of the agents file."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...models.errors import RegistryError
from ...models.text.nearest import nearest_names


def check_guard_names(path: str, agent: str, names: Sequence[str], *, known: Collection[str]) -> None:
    """Check that the guards of an agent exist.

    Args:
        path: Path of the agents file.
        agent: Name of the agent.
        names: Guards of the agent.
        known: Guards of the agents file.

    Raises:
        RegistryError: A guard does not exist.
    """
    for at, guard in enumerate(names):
        if guard not in known:
            near = nearest_names(guard, known) or "none exist"
            rule = f"must be a [guards] table ({near}; got {guard!r})"
            raise RegistryError(path, entry=f"agents.{agent}", field=f"guards[{at}]", rule=rule)
