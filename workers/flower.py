"""Flower, the page that shows workers, queues and tasks: how it is started.

It reads the broker's URL, password included, from the environment as workers do, so no
secret stands in its arguments. It listens on loopback only and asks nobody who they are.
"""

from __future__ import annotations

import sys

HOST = "127.0.0.1"


def flower_command(port: int) -> list[str]:
    """The command that serves Flower on a port of this machine."""
    return [
        *(sys.executable, "-m", "celery", "-A", "symposia.workers", "flower"),
        *(f"--address={HOST}", f"--port={port}", "--logging=error"),
    ]


def flower_url(port: int) -> str:
    """Where a browser finds it."""
    return f"http://{HOST}:{port}"
