"""Durations of the newest turns of each agent in this process."""

from __future__ import annotations

#: Seconds up to which an agent counts as fast. Sending a turn as a message takes a few milliseconds.
FAST_S = 0.01


class AgentTimes:
    """The two newest durations of each agent, in seconds. Two threads may lose a duration, which does no harm."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[float, float]] = {}

    def record(self, agent: str, seconds: float) -> None:
        """Record how long an agent took for a turn."""
        self._newest[agent] = (seconds, self._newest.get(agent, (seconds, seconds))[0])

    def is_fast(self, agent: str) -> bool:
        """Return whether an agent probably answers at once; False: it is slow, or has not run here.

        One of two turns may have waited for the processor.
        """
        return min(self._newest.get(agent, (FAST_S, FAST_S))) < FAST_S
