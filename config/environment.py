"""Changes of the environment variables of this process. Imports nothing: each command loads it."""

from __future__ import annotations

import os
from collections.abc import Mapping


def replace_environment(variables: Mapping[str, str] | None = None) -> None:
    """Replace all environment variables of this process.

    The C library then has copies of them: nothing uses the memory in which the process got them.

    Args:
        variables: The new variables; None: those that it has.
    """
    kept = dict(os.environ) if variables is None else variables
    os.environ.clear()
    os.environ.update(kept)


def disable_pydantic_plugins() -> None:
    """Let pydantic look for no plugins in the installed packages, unless the variable is set."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
