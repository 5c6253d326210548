"""Guard of a server without authentication: it answers this machine only, and no page of another site.

A page of another site can let its own name resolve to this machine (DNS rebinding), or send a request without
reading the answer. The first has a foreign host, the second a foreign origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import URL, Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .hosts import allowed_hosts, is_allowed_host, refusal_of_action
from .problems import problem_response

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class LoopbackGuard:
    """ASGI middleware that refuses requests with status 403 unless they come from this machine.

    Args:
        app: The app.
        names: Host names besides those of this machine.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = allowed_hosts("", names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(403, refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        url = URL(scope=scope)
        if not _is_this_machine(scope.get("client")) or not is_allowed_host(url.hostname or "", self._hosts):
            return "a server without authentication answers this machine only"
        if scope.get("method") in _READS:
            return None
        return refusal_of_action(headers, headers.get("host", ""), url.scheme.replace("ws", "http"))


def _is_this_machine(client: tuple[str, int] | None) -> bool:
    """Return whether the address of a client is of this machine, or is none, as for a Unix socket."""
    try:
        return client is None or ip_address(client[0]).is_loopback
    except ValueError:
        return True
