"""An embedded server of this process, for sessions that run in it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...models.errors import SymposiaError
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
