"""Progress of a session towards its limits, from its state."""

from __future__ import annotations

from ...models.protocol.collab import CollabMode
from ...models.sessions.plan import Totals
from ...models.sessions.progress import LimitUse, board_items, limits_in_use
from ...models.sessions.stop_conditions import StopCondition
from ..redis.readers import converting_to_corrupt
from .records import SessionState


def limits_of_session(state: SessionState, stop: StopCondition | None, mode: str) -> tuple[LimitUse, ...]:
    """Return the limits of a session, without safety caps.

    Args:
        state: Its state.
        stop: Its stop condition; None: unknown.
        mode: Its mode.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    until_ms = state.ended_ms or state.now_ms
    totals = Totals(
        turns=state.closed,
        rounds=state.rounds,
        usage=state.usage,
        elapsed_s=max(0, until_ms - state.started_ms) / 1000,
    )
    items = None
    if mode == CollabMode.SWARM:
        with converting_to_corrupt(state.session_id, "session"):
            items = board_items(state.planner)
    return limits_in_use(stop, totals, items=items)
