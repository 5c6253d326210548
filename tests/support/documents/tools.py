"""Programs of servers as the pages type them: without the address and the user of the tests' own servers."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import urlsplit

from programs import find_program
from servers.redis_nodes import HOST, Node


def use_redis_cli(folder: Path, node: Node, *options: str) -> dict[str, str]:
    """The environment in which `redis-cli` is connected to this server."""
    words = [find_program("redis-cli", "valkey-cli"), "-h", HOST, "-p", str(node.port), *options]
    return put_on_path(folder, "redis-cli", words)


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
