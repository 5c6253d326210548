"""Programs of servers as the pages type them: without the address and the user of the tests' own servers."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import urlsplit

from programs import find_program
from servers.rabbit import Rabbit


def use_redis_cli(folder: Path, url: str) -> dict[str, str]:
    """The environment in which `redis-cli` is connected to this server as the user of the URL."""
    return put_on_path(folder, "redis-cli", [find_program("redis-cli", "valkey-cli"), "-u", url])


def put_on_path(folder: Path, name: str, words: list[str]) -> dict[str, str]:
    """The environment in which the command `name` runs these words, with the arguments that are typed."""
    folder.mkdir(exist_ok=True)
    (command := folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    command.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def use_postgres(url: str) -> dict[str, str]:
    """The environment in which the programs of PostgreSQL are connected as the user of the URL."""
    find_program("pg_dump")
    parts = urlsplit(url)
    return {"PGHOST": str(parts.hostname), "PGPORT": str(parts.port), "PGUSER": str(parts.username)}


def use_rabbitmqctl(folder: Path, node: Rabbit) -> dict[str, str]:
    """The environment in which `rabbitmqctl` controls this node."""
    # Debian's command on the path changes to the user of its service.
    debian = Path("/usr/lib/rabbitmq/bin/rabbitmqctl")
    program = str(debian) if debian.exists() else find_program("rabbitmqctl")
    return {**node.environment, **put_on_path(folder, "rabbitmqctl", [program])}
