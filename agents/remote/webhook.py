"""Post of one signed message to a remote system, only to a checked address.

No redirect is followed, no proxy of the environment is used, and the call ends in time even if the other
side answers slowly.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...models.errors import AgentFailed
from ..execution.failures import scrub_text
from .addresses import Resolve, resolve_checked, with_timeout
from .entry import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Status codes of transient failures; all other failures are permanent.
_TRANSIENT_STATUSES = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Destination of a message."""

    url: str
    #: Maximum seconds of the whole call, including the name lookup.
    timeout_s: float
    #: Networks that may be called although they are private.
    networks: Sequence[Network] = ()
    resolve: Resolve = socket.getaddrinfo


def post_webhook(target: WebhookTarget, body: bytes, headers: Mapping[str, str]) -> None:
    """Deliver a message; it has arrived when this returns.

    Raises:
        AgentFailed: it has not arrived; `retryable`: whether a retry may succeed.
    """
    parts = urlsplit(target.url)
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_encrypted else 80)
    until = time.monotonic() + target.timeout_s
    resolve = with_timeout(target.timeout_s, target.resolve)
    addresses = resolve_checked(
        host, port, networks=target.networks, is_encrypted=is_encrypted, resolve=resolve
    )
    kind = HTTPSConnection if is_encrypted else HTTPConnection
    connection = kind(host, port, timeout=target.timeout_s)
    try:
        with closing(connection), _cut_after(connection, until - time.monotonic()) as is_cut:
            connection.sock = _connected(addresses, until)
            if is_encrypted:
                connection.sock = _encrypted(connection.sock, host)
            if is_cut.is_set():  # before there was anything that could be cut
                raise TimeoutError("timed out")
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
            connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            with connection.getresponse() as response:
                if is_cut.is_set():  # what was cut off reads like what had ended
                    raise TimeoutError("timed out")
                _check_status(host, response.status, response.getheader("Retry-After"))
    except (OSError, HTTPException) as error:
        text = scrub_text(str(error)) or type(error).__name__
        raise AgentFailed(f"{host} does not answer: {text}") from None


def _check_status(host: str, status: int, retry_after: str | None) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise AgentFailed(f"{host} answered HTTP {status}: redirects are not followed", retryable=False)
    patience_s = float(retry_after) if retry_after and retry_after.isdecimal() else None
    raise AgentFailed(
        f"{host} answered HTTP {status}",
        retryable=status >= 500 or status in _TRANSIENT_STATUSES,
        retry_after_s=patience_s,
    )


def _connected(addresses: Sequence[tuple[str, int]], until: float) -> socket.socket:
    """Return a connection to the first address that accepts one before `until`, by `time.monotonic()`."""
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


def _encrypted(plain: socket.socket, host: str) -> ssl.SSLSocket:
    """Return the encrypted connection; the certificate must be for the name, not for the address."""
    context = ssl.create_default_context()
    return context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)


@contextmanager
def _cut_after(connection: HTTPConnection, timeout_s: float) -> Iterator[threading.Event]:
    """Close a connection at its deadline: a timeout of its socket would restart with every byte.

    Set from that moment on is what it gives: a socket that the connection gets later is not cut.
    """
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError, AttributeError):  # it may be closed by now
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield is_cut
    finally:
        timer.cancel()
