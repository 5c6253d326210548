"""Tickets, each given out once, by threads and processes."""

import os
import threading


class Tickets:
    def __init__(self, first=1):
        self._lock = threading.Lock()
        self._next = first

    def take(self):
        """Return a number that no other thread gets."""
        with self._lock:
            number = self._next
            self._next += 1
        return number


def claim(marker):
    """Return True for the one process that creates the marker."""
    try:
        descriptor = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as file:
        file.write(str(os.getpid()))
    return True
