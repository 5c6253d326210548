"""What every request passes before its route: the limit of failed authentications, and the rules of browsers.

A server without authentication answers this machine only, and no page of another site. Such a page can let its own
name resolve to this machine (DNS rebinding), or send a request without reading the answer. The first has a foreign
host, the second a foreign origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config.settings import Settings
from ..workers.callbacks import FailedAuthLimiter
from .hosts import is_loopback, refusal_of_action
from .problems import problem_response

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
#: Headers that pages of other origins may send and read, besides the usual ones.
_SENT = ("Authorization", "Content-Type", "Last-Event-ID", "If-None-Match")
_READ = ("ETag", "Location", "Retry-After")
_UNAUTHORIZED = 401


def add_guards(app: FastAPI, settings: Settings, *, authenticate: bool) -> None:
    """Add the guards to an app.

    Args:
        app: The app.
        settings: Settings of the installation.
        authenticate: Whether requests need credentials. Without, no origin is allowed.
    """
    if not authenticate:
        app.add_middleware(LoopbackGuard)
        return
    app.add_middleware(FailedAuthGuard)
    if settings.http_cors_origins:
        # The last one is the first that a request passes: refusals, too, have the headers.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.http_cors_origins,
            allow_methods=("GET", "POST", "PUT", "DELETE"),
            allow_headers=_SENT,
            expose_headers=_READ,
        )


class LoopbackGuard:
    """ASGI middleware that refuses requests which do not come from this machine.

    Args:
        app: The app.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with status 403."""
        refusal = _refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(403, refusal)(scope, receive, send)


class FailedAuthGuard:
    """ASGI middleware that refuses an address for a while after many answers with status 401.

    Args:
        app: The app.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._limiter = FailedAuthLimiter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with status 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = _address(scope)
        if self._limiter.is_limited(address):
            refusal = problem_response(429, "too many requests without valid credentials", headers=_LATER)
            await refusal(scope, receive, send)
            return

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == _UNAUTHORIZED:
                self._limiter.record_failure(address)
            await send(message)

        await self._app(scope, receive, count)


_LATER: Mapping[str, str] = {"Retry-After": "1"}


def _address(scope: Mapping[str, Any]) -> str:
    client: tuple[str, int] | None = scope.get("client")
    return "" if client is None else client[0]


def _refusal(scope: Scope) -> str | None:
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if not _is_this_machine(_address(scope)) or not is_loopback(_name_of(host)):
        return "a server without authentication answers this machine only"
    if scope.get("method") in _READS:
        return None
    return refusal_of_action(headers, host, scope["scheme"].replace("ws", "http"))


def _name_of(host: str) -> str:
    """Return the name in a `Host` header; not that of the URL of Starlette, which falls back to the server's own."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_this_machine(address: str) -> bool:
    """Return whether an address is of this machine, or is none, as for a Unix socket."""
    try:
        return not address or ip_address(address).is_loopback
    except ValueError:
        return True
