"""Settings that options for all commands have chosen for this process. Imports nothing: each help text loads it."""

from __future__ import annotations

#: Value and option, by the name of the setting.
_chosen: dict[str, tuple[object, str]] = {}


def choose_for_process(name: str, value: object, *, option: str) -> None:
    """Set a setting for this process, with precedence over the environment and the file; None removes it."""
    _chosen.pop(name, None)
    if value is not None:
        _chosen[name] = (value, option)


def chosen_for_process() -> dict[str, tuple[object, str]]:
    """Return the chosen values with their options, by the name of the setting."""
    return dict(_chosen)
