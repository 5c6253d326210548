"""A worker's event loop wakes up when another thread gives it a call, as with kombu 5.7.

Before kombu 5.7, the acknowledgement of a turn that ran in a thread waits until the loop wakes up for something else, up to
5 seconds, and a worker whose threads are all busy takes no message before that. Remove this module when the lowest
kombu is 5.7.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

from celery.worker.consumer import Consumer
from kombu.asynchronous.hub import Hub

#: Whether the installed kombu does not do it.
_IS_NEEDED = not hasattr(Hub, "_create_waker")


class _Waker:
    """A pair of sockets, one of which the event loop reads."""

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)

    def wake(self) -> None:
        """Wake the loop. A full socket has woken it already."""
        with suppress(OSError):
            self._writer.send(b"\0")

    def drain(self) -> None:
        """Read what was sent."""
        with suppress(OSError):
            self.reader.recv(4096)


class WakingConsumer(Consumer):
    """Celery's consumer, whose calls from other threads wake the event loop."""

    _waker: _Waker | None = None

    def register_with_event_loop(self, hub: Any) -> None:
        """As in Consumer; called each time the loop starts."""
        super().register_with_event_loop(hub)
        if _IS_NEEDED:
            self._waker = self._waker or _Waker()
            hub.add_reader(self._waker.reader.fileno(), self._waker.drain)

    def call_soon(self, p: Any, *args: Any, **kwargs: Any) -> Any:
        """As in Consumer."""
        promised = super().call_soon(p, *args, **kwargs)
        if self._waker is not None:
            self._waker.wake()
        return promised
