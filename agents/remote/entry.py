"""`[agents.NAME] kind = "external"`: a remote system that receives its turn and answers later.

[webhooks]
hosts = ["hooks.example.com", "*.partner.example"]   # no other host is called
networks = ["10.20.0.0/16"]                          # private addresses that may be called
callback_url = "https://symposia.example.com/replies"

[agents.partner]
kind = "external"
url = "https://hooks.example.com/turns"
secret_env = "PARTNER_SECRET"                        # the variable's name, never the secret
deadline_s = 86_400
then = "skip"

Only public addresses and those of the allowed networks are called. A name is looked up once, all its
addresses are checked, and the connection is made to a checked address. So a name that changes its address in
between (DNS rebinding) has no effect.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import BoundedSemaphore, Thread
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, IPvAnyNetwork, StringConstraints

from ...models.errors import AgentFailed
from ...models.text.durations import Duration
from ...models.turns.waiting import WaitPolicy
from ..entry_base import EntryBase, HttpUrl, VariableName, Window
from ..guards.entries import GuardedEntry

Network = IPv4Network | IPv6Network


def _short_enough(host: str) -> str:
    if len(host.removeprefix("*.")) > 253:
        raise ValueError("must have at most 253 characters, without `*.`")
    return host


# The length is not checked by the pattern: it would take 40 ms to compile, in every process.
_Host = Annotated[
    str,
    StringConstraints(pattern=r"^(\*\.)?[a-zA-Z0-9.:-]+$", to_lower=True),
    AfterValidator(_short_enough),
]


class Webhooks(EntryBase):
    """`[webhooks]`: hosts and networks to which turns may be delivered."""

    #: Host names, or `*.` and the end of a host name. Empty: the hosts of the entries.
    hosts: tuple[_Host, ...] = Field(default=(), max_length=1_000)
    #: Private networks that may be called, also without TLS.
    networks: tuple[IPvAnyNetwork, ...] = Field(default=(), max_length=100)
    #: Public URL of `symposia callbacks`; sent to the remote systems.
    callback_url: HttpUrl | None = None

    def allows(self, host: str) -> bool:
        """Return whether this host may be called."""
        host = host.lower()
        return not self.hosts or any(
            host.endswith(it[1:]) if it.startswith("*.") else host == it for it in self.hosts
        )


class ExternalEntry(GuardedEntry, WaitPolicy):
    """The entry of a remote system. A binding's `wait` takes precedence."""

    kind: Literal["external"]
    #: URL to which its turns are posted.
    url: HttpUrl
    #: Name of the variable with the secret for signatures.
    secret_env: VariableName
    #: Maximum delivery attempts before the turn fails.
    attempts: int = Field(default=8, ge=1, le=50)
    #: Timeout of one delivery in seconds.
    request_timeout_s: Duration = Field(default=10, gt=0, le=20)
    #: Maximum number of dialog messages in the payload.
    window: Window = 20


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
    return all(it.is_global and not it.is_multicast for it in (address, *_wrapped(address)))


def _wrapped(address: Address) -> Iterator[Address]:
    """Yield the IPv4 addresses embedded in an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    for it in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())):
        if it is not None:
            yield it
    if address in _NAT64:
        yield IPv4Address(int(address) & 0xFFFF_FFFF)


#: Maximum number of parallel look-ups: each needs a thread until the system's resolver gives up.
MOST_LOOKUPS = 32
_lookups = BoundedSemaphore(MOST_LOOKUPS)


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
        found = resolve(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AgentFailed(f"DNS look-up of {host} failed: {error}") from None
    addresses = [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
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
