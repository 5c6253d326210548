"""The command that serves Flower with the pages of sessions."""

from __future__ import annotations

import sys

#: Address that Flower listens on if none is named.
FLOWER_HOST = "127.0.0.1"


def flower_command(
    port: int,
    *,
    address: str = FLOWER_HOST,
    url_prefix: str = "",
    read_only: bool = False,
    loglevel: str = "error",
) -> list[str]:
    """Return the command that serves Flower.

    Its arguments contain no secret: Flower reads the URL of the broker, and its own authentication, from the
    environment.

    Args:
        port: The port.
        address: The address to listen on.
        url_prefix: Path below which all pages are; empty: none.
        read_only: Whether Flower refuses all actions.
        loglevel: Minimum level of logged messages, as in Tornado.
    """
    return [
        *(sys.executable, "-m", "celery", "-A", "symposia.workers", "flower"),
        *(f"--address={address}", f"--port={port}", f"--logging={loglevel}"),
        *([f"--url_prefix={url_prefix}"] if url_prefix else []),
        *(["--read_only"] if read_only else []),
    ]
