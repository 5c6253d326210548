"""Signed webhooks between Symposia and remote systems: signatures, and the HTTP request of a message.

Three headers: `webhook-id` (the same in every attempt), `webhook-timestamp` (seconds since the
epoch), `webhook-signature` (`v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`;
several, separated by spaces, while a secret is being changed). A secret that begins with
`whsec_` is base64, any other is used as it is.

A message is posted only to a checked address. Redirects are not followed, the proxy of the environment is
not used, and the call ends at its deadline even if the remote system answers slowly.

Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.

The package standardwebhooks is not used: its version 1.1 decodes every secret as base64, and raises
ValueError for a malformed signature or a body that is not UTF-8, which anyone can send.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import threading
import time
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...models.errors import AgentFailed
from ..execution.failures import scrub_text
from .entry import Network, Resolve, resolve_checked, with_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Status codes of transient failures; all other failures are permanent.
_TRANSIENT_STATUSES = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Destination of a message."""

    url: str
    #: Maximum seconds of the whole call, including the DNS look-up.
    timeout_s: float
    #: Private networks that may be called.
    networks: Sequence[Network] = ()
    resolve: Resolve = socket.getaddrinfo


def post_webhook(target: WebhookTarget, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a message; it is delivered when this returns.

    Raises:
        AgentFailed: It is not delivered; `retryable` says whether a retry may succeed.
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
            if is_cut.is_set():  # the deadline passed before the socket was set
                raise TimeoutError("timed out")
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
            connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            with connection.getresponse() as response:
                if is_cut.is_set():  # a connection closed at the deadline looks like a complete answer
                    raise TimeoutError("timed out")
                _check_status(host, response.status, response.getheader("Retry-After"))
    except (OSError, HTTPException) as error:
        text = scrub_text(str(error)) or type(error).__name__
        limit = f" (timeout {target.timeout_s:g} s)" if isinstance(error, TimeoutError) else ""
        raise AgentFailed(f"{host} does not answer: {text}{limit}") from None


def _check_status(host: str, status: int, retry_after: str | None) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise AgentFailed(f"{host} answered HTTP {status}: redirects are not followed", retryable=False)
    retry_after_s = float(retry_after) if retry_after and retry_after.isdecimal() else None
    raise AgentFailed(
        f"{host} answered HTTP {status}",
        retryable=status >= 500 or status in _TRANSIENT_STATUSES,
        retry_after_s=retry_after_s,
    )


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


def _encrypted(plain: socket.socket, host: str) -> ssl.SSLSocket:
    """Return the TLS connection; the certificate must be for the name, not for the address."""
    context = ssl.create_default_context()
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


ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

#: Maximum difference in seconds between a message's timestamp and the current time.
TOLERANCE_S = 300
_SCHEME = "v1,"
_ENCODED = "whsec_"


def signed_headers(secret: str, message_id: str, body: bytes, *, now_s: int) -> dict[str, str]:
    """Return the headers of a message that is sent now."""
    signature = _signature(secret, message_id, str(now_s), body)
    return {ID: message_id, TIMESTAMP: str(now_s), SIGNATURE: f"{_SCHEME}{signature}"}


def refusal(secret: str, headers: Mapping[str, str], body: bytes, *, now_s: int) -> str | None:
    """Return why a message is refused: `unsigned`, `expired` or `forged`; None: it is genuine."""
    message_id, stamp = headers.get(ID, ""), headers.get(TIMESTAMP, "")
    given = headers.get(SIGNATURE, "").split()
    if not (message_id and given and stamp.isascii() and stamp.isdigit() and len(stamp) < 20):
        return "unsigned"
    expected = (_SCHEME + _signature(secret, message_id, stamp, body)).encode()
    # All signatures are compared, so that the duration does not reveal which one matches.
    if not sum(hmac.compare_digest(expected, it.encode(errors="replace")) for it in given[:10]):
        return "forged"
    return "expired" if abs(now_s - int(stamp)) > TOLERANCE_S else None


def _signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    content = f"{message_id}.{stamp}.".encode(errors="replace") + body
    return b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    if secret.startswith(_ENCODED):
        try:
            # An empty key would be known to everyone.
            return b64decode(secret.removeprefix(_ENCODED), validate=True) or secret.encode()
        except BadBase64:
            pass  # not base64: use the secret as it is
    return secret.encode()
