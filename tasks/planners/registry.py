"""The modes by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...models.protocol.collab import CollabMode, add_mode_name
from ...models.sessions.plan import RefusedHandOff, SessionView
from ...models.sessions.stop_conditions import RoundOfPasses, StopCondition
from . import broadcast, orchestrated, pair, round_robin, swarm
from .hand_offs import apply_check
from .mode import Mode

_MODES: dict[str, Mode] = {
    module.MODE.name: module.MODE for module in (round_robin, orchestrated, pair, broadcast, swarm)
}


def modes() -> Iterable[Mode]:
    """Return all modes, in the order in which they are shown."""
    return tuple(_MODES.values())


def mode_of(name: CollabMode | str) -> Mode:
    """Return a mode by its name."""
    return _MODES[str(name)]


def add_mode(mode: Mode) -> CollabMode:
    """Add a mode beside the five of the protocol; return its name as `Collab.mode` takes it.

    Add it in every process that opens, plans or shows such sessions. Documents of such a session are not valid under
    the schema of the protocol.

    Raises:
        ValueError: a mode of this name exists.
    """
    if mode.name in _MODES:
        raise ValueError(f"mode {mode.name!r} is registered already")
    name = add_mode_name(mode.name)
    _MODES[mode.name] = mode
    return name


def judge_hand_offs(view: SessionView) -> tuple[SessionView, tuple[RefusedHandOff, ...]]:
    """Return the view with the hand-offs that the mode takes (by participant id), and the refused hand-offs."""
    refuses = mode_of(view.mode).refuses
    if refuses is None or all(result.hand_off is None for result in view.results):
        return view, ()
    results, refused = apply_check(view, refuses)
    return replace(view, results=results), refused


def effective_stop(name: CollabMode, stop: StopCondition | None) -> StopCondition:
    """Return the stop condition of a session: the user's, or the mode's default.

    In every mode with rounds, a full round of passes ends the session, too: participants that pass would pass again,
    without end.
    """
    mode = mode_of(name)
    chosen = stop or mode.default_stop
    return chosen | RoundOfPasses() if mode.has_rounds else chosen
