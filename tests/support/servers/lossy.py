"""A wire that loses answers: a proxy before the server that cuts the line instead of handing over a script's answer."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class _Wire(socketserver.BaseRequestHandler):
    server: _Lossy

    def handle(self) -> None:
        with socket.create_connection(self.server.upstream) as upstream:
            is_asked = False
            while True:
                ready, _, _ = select.select([self.request, upstream], [], [])
                source, target = (
                    (self.request, upstream) if self.request in ready else (upstream, self.request)
                )
                data = source.recv(1 << 20)
                if not data:
                    return
                if source is self.request:
                    is_asked = is_asked or b"EVAL" in data  # a long script comes in pieces
                elif is_asked:
                    is_asked = False
                    if not data.startswith(b"-NOSCRIPT") and self.server.loses_next():
                        return
                target.sendall(data)


class _Lossy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Wire)
        self.upstream = upstream
        self.lost = 0
        self._loses = False

    def loses_next(self) -> bool:
        """The answer of every other script, so that the same script asked for again is answered."""
        self._loses = not self._loses
        self.lost += self._loses
        return self._loses


class Wire:
    """`url`: of the server through the lossy wire; `lost`: the number of dropped answers."""

    def __init__(self, url: str, proxy: _Lossy) -> None:
        parts = urlsplit(url)
        port = proxy.server_address[1]
        self.url = parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}").geturl()
        self._proxy = proxy

    @property
    def lost(self) -> int:
        return self._proxy.lost


@contextmanager
def lossy_wire(url: str) -> Iterator[Wire]:
    parts = urlsplit(url)
    with _Lossy((parts.hostname or "127.0.0.1", parts.port or 6379)) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Wire(url, proxy)
        finally:
            proxy.shutdown()
            thread.join()
