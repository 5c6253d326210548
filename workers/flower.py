"""Flower, the page that shows workers, queues and tasks: how it is started.

It reads the broker's URL, password included, from the environment as workers do, so no
secret stands in its arguments. It listens on loopback only and asks nobody who they are.
"""

from __future__ import annotations

import sys

from ..models.errors import InvalidInput
from .processes import free_port

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


def check_port(port: int) -> None:
    """Refuse a port that Flower cannot listen on.

    Raises:
        InvalidInput: another program listens there, or the port is reserved.
    """
    if free_port(HOST, preferred=port) != port:
        rule = f"is already in use on {HOST} (or reserved): set another port, or start without Flower (--no-flower)"
        raise InvalidInput("SYMPOSIA_FLOWER_PORT", port, rule)
