"""HTTP requests to hosts that an operator's file names: signed webhooks, APIs of code hosts, chat webhooks.

A request is sent only to a checked address. Redirects are not followed, the proxy of the environment is not
used, the answer has a maximum size, and the call ends at its deadline even if the host answers slowly.

Only public addresses and those of the allowed networks are called. A name is looked up once, all its
addresses are checked, and the connection is made to a checked address. So a name that changes its address in
between (DNS rebinding) has no effect.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

from ...models.errors import AgentFailed
from ..execution.failures import scrub_text
from ..tables import Network

if TYPE_CHECKING:
    from collections.abc import Iterator


Address = IPv4Address | IPv6Address


#: `socket.getaddrinfo`, or a function with the same signature.
Resolve = Callable[..., Sequence[tuple[Any, Any, Any, str, tuple[Any, ...]]]]


#: Translated IPv4 addresses (RFC 6052).
_NAT64 = IPv6Network("64:ff9b::/96")


#: All IPv6 addresses that are allocated on the internet (RFC 4291, 2.4). `is_global` knows only a part of the
#: others: old forms of IPv4 and of site-local addresses, and private translators.
_GIVEN_OUT = IPv6Network("2000::/3")


def is_public(address: Address) -> bool:
    """Return whether the address is public; an embedded address must be public, too."""
    if isinstance(address, IPv6Address) and address not in _GIVEN_OUT and address not in _NAT64:
        return False
    return all(
        candidate.is_global and not candidate.is_multicast for candidate in (address, *_wrapped(address))
    )


def _wrapped(address: Address) -> Iterator[Address]:
    """Yield the IPv4 addresses embedded in an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    for embedded in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())):
        if embedded is not None:
            yield embedded
    if address in _NAT64:
        yield IPv4Address(int(address) & 0xFFFF_FFFF)


#: Maximum number of parallel look-ups: each needs a thread until the system's resolver gives up.
MAX_LOOKUPS = 32


_lookups = BoundedSemaphore(MAX_LOOKUPS)


def with_timeout(timeout_s: float, resolve: Resolve) -> Resolve:
    """Add a timeout in seconds to `resolve`. After it the look-up fails, but its thread continues."""

    def resolved(host: str, port: int, **how: Any) -> Any:
        if not _lookups.acquire(timeout=timeout_s):
            raise TimeoutError("too many DNS look-ups are running")
        answer: Future[Any] = Future()

        def look_up() -> None:
            try:
                answer.set_result(resolve(host, port, **how))
            except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                answer.set_exception(error)
            finally:
                _lookups.release()

        Thread(target=look_up, name="lookup", daemon=True).start()
        try:
            return answer.result(timeout_s)
        except TimeoutError:
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None

    return resolved


def resolve_checked(
    host: str, port: int, *, networks: Sequence[Network], is_encrypted: bool, resolve: Resolve
) -> list[tuple[str, int]]:
    """Return the addresses of a host if all of them may be called.

    Raises:
        AgentFailed: One of them may not be called (permanent), or the DNS look-up failed (transient).
    """
    try:
        entries = resolve(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AgentFailed(f"DNS look-up of {host} failed: {error}") from None
    addresses = [ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries]
    for address in addresses:
        is_allowed = any(address in network for network in networks)
        if not (is_allowed or is_public(address)):
            raise AgentFailed(
                f"{host} resolves to {address}, which is neither public nor in the allowed networks",
                retryable=False,
            )
        if not (is_allowed or is_encrypted):
            raise AgentFailed(f"{host} must be called with https", retryable=False)
    if not addresses:
        raise AgentFailed(f"{host} resolves to no address")
    return [(str(address), port) for address in addresses]


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
    target: HttpTarget,
    method: str,
    headers: Mapping[str, str],
    *,
    body: bytes = b"",
    max_bytes: int = 0,
    on_connected: Callable[[], object] | None = None,
) -> HttpAnswer:
    """Send a request and return the answer, whatever its status is.

    Args:
        target: The destination.
        method: Such as `POST`.
        headers: Headers of the request.
        body: Body of the request.
        max_bytes: Maximum size of the body of the answer; 0: it is not read.
        on_connected: Called before the first byte of the request is sent; what it raises ends the call.

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
        with closing(connection), cut_after(connection, until - time.monotonic()) as is_cut:
            connection.sock = connect_before(addresses, until)
            if is_encrypted:
                connection.sock = _encrypted(connection.sock, host, target.ca_file)
            if is_cut.is_set():  # the deadline passed before the socket was set
                raise TimeoutError("timed out")
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            if on_connected is not None:
                on_connected()
            connection.request(method, _path(parts), body or None, dict(headers))
            with connection.getresponse() as response:
                read = response.read(max_bytes + 1) if max_bytes else b""
                if is_cut.is_set():  # a connection closed at the deadline looks like a complete answer
                    raise TimeoutError("timed out")
                answer_headers = {name.lower(): value for name, value in response.getheaders()}
    except (OSError, HTTPException) as error:
        text = scrub_text(str(error)) or type(error).__name__
        limit = f" (timeout {target.timeout_s:g} s)" if isinstance(error, TimeoutError) else ""
        raise AgentFailed(f"{host} does not answer: {text}{limit}") from None
    if len(read) > max_bytes:
        raise AgentFailed(f"{host} answered more than {max_bytes} bytes", retryable=False)
    return HttpAnswer(response.status, answer_headers, read)


def _path(parts: SplitResult) -> str:
    return f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"


def connect_before(addresses: Sequence[tuple[str, int]], until: float) -> socket.socket:
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


class HasSocket(Protocol):
    """A connection of HTTP or SMTP."""

    sock: Any


@contextmanager
def cut_after(connection: HasSocket, timeout_s: float) -> Iterator[threading.Event]:
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
