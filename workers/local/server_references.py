"""Shared embedded server of one data folder: the first process starts it, the last one ends it.

Each process that uses the server holds a shared lock on the file `users`. The kernel releases the lock
however the process ends. So a process that leaves and gets the exclusive lock was the last one. Other
processes never end the server of `symposia up`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ...factories.discovery import ServerRecord, find_embedded_server, server_folder
from ...models.errors import EmbeddedServerError
from ...models.text.paths import make_private_folder
from .embedded import EmbeddedServer, open_private, reap_detached, try_lock

_POLL_S = 0.02
#: Seconds the server may take to end before it is killed.
_STOP_TIMEOUT_S = 10.0


@contextmanager
def shared_server(data_dir: Path) -> Iterator[str]:
    """Yield the URL of the server, which runs at least as long as the context. Raises EmbeddedServerError."""
    server = EmbeddedServer(data_dir, shared=True)
    try:
        with using_server(data_dir):
            yield server.start()
    finally:
        server.detach()


@contextmanager
def using_server(data_dir: Path) -> Iterator[None]:
    """Keep a shared server running, also one that starts later. Raises EmbeddedServerError."""
    folder = server_folder(data_dir)
    try:
        make_private_folder(folder)
        users = open_private(folder / "users")
    except OSError as error:
        raise EmbeddedServerError(f"the embedded server in {folder} cannot be used: {error}") from error
    with users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield
        finally:
            # The lock is held until the server has ended. Processes that come in the meantime wait, and start
            # another server.
            if try_lock(users):
                _end(data_dir)


def _end(data_dir: Path) -> None:
    record = ServerRecord.read(data_dir)
    if record is None or not record.shared or find_embedded_server(data_dir) != record.url:
        return
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    with suppress(ProcessLookupError), open_private(server_folder(data_dir) / "lock") as lock:
        os.kill(record.pid, signal.SIGTERM)
        while not _is_gone(lock):
            if time.monotonic() > deadline:
                os.kill(record.pid, signal.SIGKILL)
            time.sleep(_POLL_S)
    reap_detached()


def _is_gone(lock: IO[bytes]) -> bool:
    """Return True if the server has ended: it holds its lock while it runs."""
    return try_lock(lock)
