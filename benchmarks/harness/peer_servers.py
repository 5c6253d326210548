"""Servers of the peers: PostgreSQL, Valkey, and Redis with its modules. Each is new and ends with the context."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import SkippedCase
from harness.stage import wait_until
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import end_process, free_port

HOST = "127.0.0.1"
#: The first Redis that contains RedisJSON and RediSearch.
REDIS_WITH_MODULES = 8


@contextmanager
def valkey(*, relaxed: bool) -> Iterator[str]:
    """Yield the URL of a Valkey with the configuration of ours."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder), bound=True) as server:
        yield server.url


@contextmanager
def redis(*, relaxed: bool) -> Iterator[str]:
    """Yield the URL of a Redis with RedisJSON and RediSearch, with the configuration of our Valkey.

    Raises:
        SkippedCase: There is none.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise SkippedCase("needs the modules RedisJSON and RediSearch, which Valkey lacks: install Redis 8")
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"v=(\d+)", shown)
    if match is None or int(match[1]) < REDIS_WITH_MODULES:
        version = match[1] if match else "unknown"
        raise SkippedCase(
            f"needs the modules RedisJSON and RediSearch, which Valkey lacks: install Redis 8 (found: {version})"
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedServer(Path(folder), bound=True, program=Path(program)) as server,
    ):
        yield server.url


@contextmanager
def postgres(*, relaxed: bool) -> Iterator[str]:
    """Yield the URL of a PostgreSQL with its default settings. `relaxed`: commits do not wait for the disk.

    Raises:
        SkippedCase: There is none.
    """
    programs = find_postgres()
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL refuses to run as root.
        user = "nobody" if os.getuid() == 0 else None
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data, port = Path(folder) / "data", free_port(HOST)
        create = [programs / "initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8"]
        subprocess.run(create, check=True, user=user, capture_output=True, cwd="/")
        settings = [f"listen_addresses={HOST}", "unix_socket_directories=", "max_connections=200"]
        settings += ["synchronous_commit=off"] if relaxed else []
        # `end_with_parent` needs this user's Python.
        bound = ["setpriv", "--pdeathsig", "INT", "--"] if shutil.which("setpriv") else []
        command = [*bound, programs / "postgres", "-D", data, "-p", str(port)]
        command += [part for setting in settings for part in ("-c", setting)]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd="/")
        try:
            answers = [programs / "pg_isready", "-q", "-h", HOST, "-p", str(port)]
            wait_until(
                lambda: subprocess.run(answers, check=False).returncode == 0,
                "PostgreSQL answers",
                timeout_s=60,
            )
            yield f"postgresql://bench@{HOST}:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # end all connections at once
            end_process(process, timeout_s=20)


def find_postgres() -> Path:
    """Return the folder of the newest PostgreSQL.

    Raises:
        SkippedCase: There is none.
    """
    initdb_paths = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    on_path = shutil.which("initdb")
    if not initdb_paths and on_path is None:
        raise SkippedCase("PostgreSQL is not installed: `make debian-packages`")
    return initdb_paths[-1].parent if initdb_paths else Path(on_path or "").resolve().parent
