"""The embedded server, shared by all who run sessions on one data folder: the first starts it, the last ends it.

Whoever uses the server holds a shared lock on the file `users`. The kernel lets go of it however its holder ends, so
one who leaves and gets the lock alone was the last. A server that somebody keeps up on purpose (`symposia up`) is
never ended by others.
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

from ..models.errors import EmbeddedServerError
from ..models.paths import make_private_folder
from .discovery import ServerRecord, find_running, server_folder
from .embedded import EmbeddedServer, acquire, private, reap

_POLL_S = 0.02
#: Seconds the server may take to end before it is killed.
_PATIENCE_S = 10.0


@contextmanager
def shared_server(data_dir: Path) -> Iterator[str]:
    """The URL of the server, which lives at least as long as the context. Raises EmbeddedServerError."""
    server = EmbeddedServer(data_dir, shared=True)
    try:
        with using_server(data_dir):
            yield server.start()
    finally:
        server.leave()


@contextmanager
def using_server(data_dir: Path) -> Iterator[None]:
    """Keeps a shared server alive that is there, or will be. Raises EmbeddedServerError."""
    folder = server_folder(data_dir)
    try:
        make_private_folder(folder)
        users = private(folder / "users")
    except OSError as error:
        raise EmbeddedServerError(f"the embedded server in {folder} cannot be used: {error}") from error
    with users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield
        finally:
            # Held until the server is gone: who comes meanwhile waits, and starts another.
            if acquire(users):
                _end(data_dir)


def _end(data_dir: Path) -> None:
    record = ServerRecord.read(data_dir)
    if record is None or not record.shared or find_running(data_dir) != record.url:
        return
    deadline = time.monotonic() + _PATIENCE_S
    with suppress(ProcessLookupError), private(server_folder(data_dir) / "lock") as lock:
        os.kill(record.pid, signal.SIGTERM)
        while not _is_gone(lock):
            if time.monotonic() > deadline:
                os.kill(record.pid, signal.SIGKILL)
            time.sleep(_POLL_S)
    reap()


def _is_gone(lock: IO[bytes]) -> bool:
    """The server holds its lock for as long as it lives."""
    return acquire(lock)
