"""TLS in front of a server that speaks none: certificates made for a test, and a proxy that decrypts."""

from __future__ import annotations

import select
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

HOST = "127.0.0.1"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for loopback that signs itself, and its key; skips the test where OpenSSL is not installed."""
    if shutil.which("openssl") is None:
        pytest.skip(
            "openssl is not installed, which makes the certificates: `make debian-packages` installs it"
        )
    made, key = folder / f"{name}.pem", folder / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{HOST}"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-out", made, "-keyout", key], check=True, capture_output=True)
    return made, key


class _Decrypting(socketserver.BaseRequestHandler):
    server: _Front

    def handle(self) -> None:
        with (
            suppress(OSError),  # a client that trusts nobody hangs up
            self.server.context.wrap_socket(self.request, server_side=True) as client,
            socket.create_connection((HOST, self.server.upstream)) as upstream,
        ):
            self._pass_on(client, upstream)

    @staticmethod
    def _pass_on(client: ssl.SSLSocket, upstream: socket.socket) -> None:
        while True:
            ready = [client] if client.pending() else select.select([client, upstream], [], [])[0]
            for source in ready:
                data = source.recv(1 << 16)
                if not data:
                    return
                (upstream if source is client else client).sendall(data)


class _Front(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: int, context: ssl.SSLContext) -> None:
        super().__init__((HOST, 0), _Decrypting)
        self.upstream = upstream
        self.context = context


@contextmanager
def tls_front(upstream: int, made: Path, key: Path) -> Iterator[int]:
    """The port on which the server on port `upstream` is reached through TLS, and only so."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    with _Front(upstream, context) as front:
        thread = threading.Thread(target=front.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield front.server_address[1]
        finally:
            front.shutdown()
            thread.join()
