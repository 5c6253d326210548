"""Ends a server at once, and loses nothing that it has acknowledged."""

from __future__ import annotations

import os
import signal

from symposia.client.embedded import EmbeddedServer
from symposia.state.redis.connect import connect


def kill_server(server: EmbeddedServer) -> None:
    """SIGKILL, as soon as all that was written before is in its file: with `everysec` that may take seconds."""
    assert server.pid is not None
    with connect(server.url) as client:
        client.set(
            "written-before", "1"
        )  # the command is about this connection's writes, and what came before
        local, _ = client.waitaof(1, 0, 20_000)
    assert local == 1
    os.kill(server.pid, signal.SIGKILL)
