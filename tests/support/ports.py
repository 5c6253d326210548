"""Ports for servers of tests."""

from __future__ import annotations

from random import SystemRandom

from symposia.workers.processes import free_port

HOST = "127.0.0.1"


def own_port() -> int:
    """A free port on loopback that stays free until it is listened on, and while its server is away.

    Those that the kernel hands out to whoever asks for any (by default 32768 to 60999) would not.
    """
    while True:
        # Not `random`: its seed is the same in all processes of a run.
        wanted = SystemRandom().randrange(20_000, 32_000)
        if free_port(HOST, preferred=wanted) == wanted:
            return wanted
