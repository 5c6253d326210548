"""Child processes that do not outlive their reason: ended on purpose, or with whoever started them."""

from __future__ import annotations

import socket
import subprocess

from ..agents.children import dying_with_parent

__all__ = ["dying_with_parent", "end", "free_port"]


def end(process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    """Ask the process to end, and kill it when it has not after `timeout_s` seconds."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port(host: str, *, preferred: int | None = None) -> int:
    """A port nobody listens on: `preferred` if it is free, else one the system chooses."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            # As servers do: a port whose last connections have just closed is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            chosen: int = probe.getsockname()[1]
            return chosen
    raise OSError(f"no free port on {host}")
