"""HTTP requests to hosts that an operator's file names: signed webhooks, APIs of code hosts, chat webhooks.

A request is sent only to a checked address. Redirects are not followed, the proxy of the environment is not
used, the answer has a maximum size, and the call ends at its deadline even if the host answers slowly.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ...models.errors import AgentFailed
from ..execution.failures import scrub_text
from .entry import Network, Resolve, resolve_checked, with_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Status codes of transient failures; all other failures are permanent.
_TRANSIENT_STATUSES = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Destination of a request."""

    url: str
    #: Maximum seconds of the whole call, including the DNS look-up.
    timeout_s: float
    #: Private networks that may be called.
    networks: Sequence[Network] = ()
    resolve: Resolve = socket.getaddrinfo
    #: File of certificates to trust instead of the system's.
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Answer of a host."""

    status: int
    #: Headers by their names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_success(self) -> bool:
        """True if the host has accepted the request."""
        return 200 <= self.status < 300

    @property
    def is_transient(self) -> bool:
        """True if the same request may succeed later."""
        return self.status >= 500 or self.status in _TRANSIENT_STATUSES

    @property
    def retry_after_s(self) -> float | None:
        """Seconds of the header `Retry-After`; None: there is none, or it is a date."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdecimal() else None


def http_call(
    target: HttpTarget, method: str, headers: Mapping[str, str], *, body: bytes = b"", max_bytes: int = 0
) -> HttpAnswer:
    """Send a request and return the answer, whatever its status is.

    Args:
        target: The destination.
        method: Such as `POST`.
        headers: Headers of the request.
        body: Body of the request.
        max_bytes: Maximum size of the body of the answer; 0: it is not read.

    Raises:
        AgentFailed: There is no answer, or it is too large; `retryable` says whether a retry may succeed.
    """
    parts = urlsplit(target.url)
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_encrypted else 80)
    until = time.monotonic() + target.timeout_s
    addresses = resolve_checked(
        host,
        port,
        networks=target.networks,
        is_encrypted=is_encrypted,
        resolve=with_timeout(target.timeout_s, target.resolve),
    )
    kind = HTTPSConnection if is_encrypted else HTTPConnection
    connection = kind(host, port, timeout=target.timeout_s)
    try:
        with closing(connection), _cut_after(connection, until - time.monotonic()) as is_cut:
            connection.sock = _connected(addresses, until)
            if is_encrypted:
                connection.sock = _encrypted(connection.sock, host, target.ca_file)
            if is_cut.is_set():  # the deadline passed before the socket was set
                raise TimeoutError("timed out")
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            connection.request(method, _path(parts), body or None, dict(headers))
            with connection.getresponse() as response:
                read = response.read(max_bytes + 1) if max_bytes else b""
                if is_cut.is_set():  # a connection closed at the deadline looks like a complete answer
                    raise TimeoutError("timed out")
                found = {name.lower(): value for name, value in response.getheaders()}
    except (OSError, HTTPException) as error:
        text = scrub_text(str(error)) or type(error).__name__
        limit = f" (timeout {target.timeout_s:g} s)" if isinstance(error, TimeoutError) else ""
        raise AgentFailed(f"{host} does not answer: {text}{limit}") from None
    if len(read) > max_bytes:
        raise AgentFailed(f"{host} answered more than {max_bytes} bytes", retryable=False)
    return HttpAnswer(response.status, found, read)


def _path(parts: SplitResult) -> str:
    return f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"


def _connected(addresses: Sequence[tuple[str, int]], until: float) -> socket.socket:
    """Return a connection to the first address that accepts one before `until` (`time.monotonic()`)."""
    trouble: OSError | None = None
    for address in addresses:
        left_s = until - time.monotonic()
        if left_s <= 0:
            break
        try:
            return socket.create_connection(address, left_s)
        except OSError as error:
            trouble = error
    raise trouble or TimeoutError("timed out")


def _encrypted(plain: socket.socket, host: str, ca_file: Path | None) -> ssl.SSLSocket:
    """Return the TLS connection; the certificate must be for the name, not for the address."""
    context = ssl.create_default_context(cafile=ca_file)
    return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)


@contextmanager
def _cut_after(connection: HTTPConnection, timeout_s: float) -> Iterator[threading.Event]:
    """Shut down a connection's socket at the deadline: a socket timeout would restart with every byte.

    Yields:
        An event that is set at the deadline. A socket that the connection gets later is not shut down, so the
        caller has to check the event.
    """
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError, AttributeError):  # the socket may be closed or not set yet
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield is_cut
    finally:
        timer.cancel()
