"""Child processes that end on request or with their parent, and free ports."""

from __future__ import annotations

import socket
import subprocess

from ..agents.programs.process import end_with_parent

__all__ = ["end_process", "end_with_parent", "free_port"]


def end_process(process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    """Terminate the process, and kill it after `timeout_s` seconds."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port(host: str, *, preferred: int | None = None) -> int:
    """Return a free port: `preferred` if it is free, else one that the system chooses."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            # Like servers: a port whose last connections have just closed counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            chosen: int = probe.getsockname()[1]
            return chosen
    raise OSError(f"no free port on {host}")
