"""Time for which a session has waited for a worker."""

from __future__ import annotations

from ...models.protocol.collab import CollabStatus
from .records import SessionState


def queued_for_s(state: SessionState) -> float | None:
    """Return the seconds for which the oldest queued work of a session has waited; None: nothing is queued.

    A turn that waits for a retry, for a person, or for tokens is not queued. Costs O(open turns).
    """
    if state.status is not CollabStatus.ACTIVE:
        return None
    since = [ms for ms in _queued_since_ms(state) if ms <= state.now_ms]
    return (state.now_ms - min(since)) / 1000 if since else None


def _queued_since_ms(state: SessionState) -> list[int]:
    open_turns = state.open_turns()
    if open_turns:
        return [turn.queued_ms for turn in open_turns if turn.queued_ms is not None]
    # The next step is to be planned: since the last turn was closed, or since the session was opened or resumed.
    return [state.updated_ms]
