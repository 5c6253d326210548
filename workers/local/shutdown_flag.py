"""Flag: shut down at once (second signal)."""

from __future__ import annotations


class ShutdownFlag:
    """Flag that a signal handler may set. It has no lock, unlike an event: the interrupted code could hold that lock."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Request an immediate shutdown."""
        self._is_set = True

    def is_set(self) -> bool:
        """Return True if an immediate shutdown was requested."""
        return self._is_set
