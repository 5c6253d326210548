"""Rules against requests that pages of other sites send: the host of a request, and the origin of an action. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address

#: Names of this machine.
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
#: Addresses that mean all interfaces, which no browser sends as a host.
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # nosec B104 - compared, not bound


def allowed_hosts(address: str, names: Iterable[str]) -> frozenset[str]:
    """Return the host names under which a server answers.

    A page of another site can let its own name resolve to this machine (DNS rebinding). Its requests then have
    that name as their host.

    Args:
        address: The address that the server listens on.
        names: Further names, from the settings.
    """
    own = {address} - _ANY_ADDRESS
    return frozenset(_without_brackets(host) for host in (*LOOPBACK_HOSTS, *own, *names))


def is_allowed_host(host: str, allowed: frozenset[str]) -> bool:
    """Return whether the value of a `Host` header, without its port, is allowed."""
    return _without_brackets(host) in allowed


def refusal_of_action(headers: Mapping[str, str], host: str, scheme: str) -> str | None:
    """Return why a request must not change anything; None if it comes from a page of this server.

    A browser sends `Sec-Fetch-Site` and, with every POST, `Origin`. A program that sends neither still needs
    credentials and the token.

    Args:
        headers: Headers of the request.
        host: The `Host` header, with the port.
        scheme: Scheme of the request, `http` or `https`.
    """
    site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    if site is not None and site != "same-origin":
        return "cross-site requests are refused"
    if origin is not None and origin.lower() != f"{scheme}://{host}".lower():
        return "requests from another origin are refused"
    return None


def is_loopback(host: str) -> bool:
    """Return whether an address or a name means this machine only."""
    name = _without_brackets(host)
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name in LOOPBACK_HOSTS


def _without_brackets(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
