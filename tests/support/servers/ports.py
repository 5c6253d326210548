"""Ports for servers of tests."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from random import SystemRandom

from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import free_port

HOST = "127.0.0.1"
#: Below those that the kernel hands out to whoever asks for any (by default 32768 to 60999), also with the
#: 10,000 more of a cluster's bus.
_FIRST, _EACH, _PROCESSES = 20_000, 54, 50
#: The ports of this process that were reserved last. Their servers may not listen yet, or again.
_reserved: deque[int] = deque(maxlen=_EACH // 2)


def own_port() -> int:
    """Reserve a free port on loopback until a server uses it, and while that server is down.

    Processes that started one after the other, as those of a run do, have different ones.
    """
    while True:
        # Not `random`: tests seed it.
        wanted = _FIRST + _EACH * (os.getpid() % _PROCESSES) + SystemRandom().randrange(_EACH)
        if wanted not in _reserved and free_port(HOST, preferred=wanted) == wanted:
            _reserved.append(wanted)
            return wanted


def keep_port(folder: Path) -> None:
    """Give the embedded server of a data folder a reserved port, also while it is down."""
    with EmbeddedServer(folder, port=own_port(), bound=True):
        pass
