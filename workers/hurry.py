"""Whether what is being put away should be cut short."""

from __future__ import annotations


class Hurry:
    """A flag that a signal handler may set: a lock, as an event has, may be held by whom the signal interrupts."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """From now on there is a hurry."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether there is a hurry."""
        return self._is_set
