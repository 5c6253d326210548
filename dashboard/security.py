"""Rules that protect the dashboard in a browser: hosts, headers, and the origin of actions. Pure.

Flower itself checks the origin of some requests only, and adds CORS headers if its API is open. The handlers
of the dashboard do not use these parts of Flower.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping

#: Names of this machine.
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
#: Addresses that mean all interfaces, which no browser sends as a host.
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # nosec B104 - compared, not bound

#: Scripts and styles come from files of this server only. Bootstrap's own style sheet has images in `data:`.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: Headers of every answer of the dashboard.
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def allowed_hosts(address: str, names: Iterable[str]) -> frozenset[str]:
    """Return the host names under which the dashboard answers.

    A page of another site can let its own name resolve to this machine (DNS rebinding). Its requests then have
    that name as their host.

    Args:
        address: The address that Flower listens on.
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


def basic_user(authorization: str) -> str:
    """Return the user name in a header of basic authentication; empty: there is none.

    Credentials without a colon have no name, so all of them are secret.
    """
    kind, _, encoded = authorization.partition(" ")
    try:
        credentials = b64decode(encoded.strip(), validate=True).decode() if kind == "Basic" else ""
    except ValueError:
        return ""
    name, colon, _ = credentials.partition(":")
    return name if colon else ""


def _without_brackets(host: str) -> str:
    return host.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
