"""Ports for servers of tests."""

from __future__ import annotations

import os
from random import SystemRandom

from symposia.workers.processes import free_port

HOST = "127.0.0.1"
#: Below those that the kernel hands out to whoever asks for any (by default 32768 to 60999), also with the
#: 10,000 more of a cluster's bus.
_FIRST, _EACH, _PROCESSES = 20_000, 300, 9


def own_port() -> int:
    """A free port on loopback that stays free until it is listened on, and while its server is away.

    Each process of a run has ports of its own.
    """
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _PROCESSES
    while True:
        # Not `random`: tests seed it.
        wanted = _FIRST + _EACH * process + SystemRandom().randrange(_EACH)
        if free_port(HOST, preferred=wanted) == wanted:
            return wanted
