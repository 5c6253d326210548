"""An embedded server of this process, for sessions that run in it."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from weakref import finalize

from ...models.errors import SymposiaError
from ...state.redis.connect import connect
from ..embedded import EmbeddedServer


@contextmanager
def run_server(folder: Path) -> Iterator[str]:
    """Yield the URL of a server that a thread of its own starts: it ends with that thread, whatever happens here."""
    server = EmbeddedServer(folder, durable=False, bound=True)
    is_over, started = threading.Event(), threading.Event()
    failure: list[SymposiaError] = []

    def serve() -> None:
        try:
            server.start()
        except SymposiaError as error:
            failure.append(error)
        started.set()
        is_over.wait()
        server.stop()

    thread = threading.Thread(target=serve, name="symposia-server", daemon=True)
    thread.start()
    try:
        started.wait()
        if failure:
            raise failure[0]
        yield server.url
    finally:
        is_over.set()
        thread.join()


@dataclass(eq=False)
class _KeptServer:
    """A running server with a folder of its own. A fork of the process that started it must not change it."""

    pid: int = field(default_factory=os.getpid)
    _stack: ExitStack = field(default_factory=ExitStack)
    url: str = field(init=False)

    def __post_init__(self) -> None:
        folder = mkdtemp(prefix="symposia-")
        with ExitStack() as stack:
            # Unlike that of a TemporaryDirectory, this finalizer does nothing in a fork, which also runs it when it ends.
            stack.callback(finalize(self, _remove_folder, folder, self.pid))
            self.url = stack.enter_context(run_server(Path(folder)))
            self._stack = stack.pop_all()

    def clear(self) -> bool:
        """Delete all data; return False if the server cannot be used again."""
        try:
            with connect(self.url) as client:
                return bool(client.flushall())
        except SymposiaError:
            return False

    def stop(self) -> None:
        self._stack.close()


def _remove_folder(folder: str, pid: int) -> None:
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


_lock = threading.Lock()
#: The server that no client uses now, at most one: its start takes longer than a short session.
_idle: list[_KeptServer] = []
#: Servers of the process from which this one was forked. They are never freed, because that would end their threads.
_inherited: list[_KeptServer] = []


def _forget_inherited() -> None:
    global _lock  # noqa: PLW0603 - one for the process
    _lock = threading.Lock()  # another thread may have held it
    _inherited.extend(_idle)
    _idle.clear()


os.register_at_fork(after_in_child=_forget_inherited)


@contextmanager
def borrow_server() -> Iterator[str]:
    """Yield the URL of an empty server that no other client uses. It is kept for the next one until this process ends."""
    with _lock:
        server = _idle.pop() if _idle else None
    if server is not None and not server.clear():
        server.stop()
        server = None
    server = server or _KeptServer()
    try:
        yield server.url
    finally:
        if server.pid == os.getpid():
            _return_server(server)
        else:
            _inherited.append(server)


def _return_server(server: _KeptServer) -> None:
    is_empty = server.clear()
    with _lock:
        is_kept = is_empty and not _idle
        if is_kept:
            _idle.append(server)
    if not is_kept:
        server.stop()


@atexit.register
def stop_idle_server() -> None:
    """Stop the server that no client uses."""
    with _lock:
        servers = list(_idle)
        _idle.clear()
    for server in servers:
        server.stop()
