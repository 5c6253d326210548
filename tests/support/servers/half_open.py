"""A wire whose connections can go silent for good, as when the other end lost its power: new ones work."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class _Line(socketserver.BaseRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        age = self.server.age
        with socket.create_connection(self.server.upstream) as upstream:
            ends = {self.request: upstream, upstream: self.request}
            while True:
                for source in select.select(list(ends), [], [], 0.5)[0]:
                    if self.server.age != age:
                        self.server.closed.wait()
                        return
                    data = source.recv(1 << 20)
                    if not data:
                        return
                    ends[source].sendall(data)
                if self.server.closed.is_set():
                    return


class _Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, upstream: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Line)
        self.upstream = upstream
        self.age = 0
        self.closed = threading.Event()


class Wire:
    """`url`: of the server through the wire."""

    def __init__(self, url: str, proxy: _Proxy) -> None:
        parts = urlsplit(url)
        port = proxy.server_address[1]
        self.url = parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{port}").geturl()
        self._proxy = proxy

    def silence(self) -> None:
        """Drop all data of the open connections silently from now on."""
        self._proxy.age += 1


@contextmanager
def half_open_wire(url: str) -> Iterator[Wire]:
    parts = urlsplit(url)
    with _Proxy((parts.hostname or "127.0.0.1", parts.port or 6379)) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Wire(url, proxy)
        finally:
            proxy.closed.set()
            proxy.shutdown()
            thread.join()
