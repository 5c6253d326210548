"""Start of Flower, the web page that shows workers, queues and Celery tasks.

Like workers, it reads the broker's URL with the password from the environment, so its
arguments contain no secret. It listens on loopback only and has no authentication.
"""

from __future__ import annotations

import sys

from ...models.errors import InvalidInput
from .processes import free_port

FLOWER_HOST = "127.0.0.1"


def flower_command(port: int) -> list[str]:
    """Return the command that serves Flower on a port of this machine."""
    return [
        *(sys.executable, "-m", "celery", "-A", "symposia.workers", "flower"),
        *(f"--address={FLOWER_HOST}", f"--port={port}", "--logging=error"),
    ]


def flower_url(port: int) -> str:
    """Return the URL of Flower."""
    return f"http://{FLOWER_HOST}:{port}"


def check_port(port: int) -> None:
    """Refuse a port that Flower cannot listen on.

    Raises:
        InvalidInput: another program listens there, or the port is reserved.
    """
    if free_port(FLOWER_HOST, preferred=port) != port:
        rule = f"is already in use on {FLOWER_HOST} (or reserved): set another port, or disable Flower (--no-flower)"
        raise InvalidInput("SYMPOSIA_FLOWER_PORT", port, rule)
