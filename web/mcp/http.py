"""The MCP server over streamable HTTP at `/mcp`, with the callers of the HTTP API."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from ...models.errors import SymposiaError
from ...models.identity import Caller
from ..context import WebContext
from ..problems import problem_of, problem_response
from .options import ServerOptions
from .server import build_server
from .session_tools import SessionTools

_log = logging.getLogger(__name__)

#: Maximum number of connected clients of a process.
_MAX_CLIENTS = 1_000
#: Maximum number of those of one caller.
_MAX_OF_CALLER = 100
#: Key of the caller in the scope of a request.
_CALLER = "symposia.caller"


class _Connections(StreamableHTTPSessionManager):
    """The connections of clients, of which each caller has a limited number."""

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """As in StreamableHTTPSessionManager, which calls it with its lock.

        Raises:
            HTTPException: The caller has too many; status 429.
        """
        if sum(owner == requestor for owner in self._session_owners.values()) >= _MAX_OF_CALLER:
            rule = f"more than {_MAX_OF_CALLER} open MCP connections: end some with DELETE"
            raise HTTPException(429, rule, headers={"Retry-After": "60"})
        return super()._admit_session(requestor)


class McpEndpoint:
    """The ASGI app: finds the caller, and passes the request to the SDK."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        settings = context.settings
        options = ServerOptions(settings.mcp_wait_s, cancels=settings.mcp_cancel_sessions)
        server = build_server(context, SessionTools.of(settings), options, find_caller=_caller_of)
        self._manager = _Connections(server, max_sessions=_MAX_CLIENTS)
        self._running: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        header = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        try:
            caller = await self._context.identify(None if header is None else header.decode("latin-1"))
            self._context.limits.count_request(caller)
            await self._start()
            # Each request may wait: it counts as a stream.
            with self._context.limits.stream(caller):
                known = {**scope, _CALLER: caller, "user": _user_of(caller)}
                await self._manager.handle_request(known, receive, send)
        except SymposiaError as error:
            await problem_of(error)(scope, receive, send)
        except HTTPException as error:
            refusal = problem_response(error.status_code, str(error.detail), headers=error.headers)
            await refusal(scope, receive, send)

    async def _start(self) -> None:
        """Start the manager with the first request: an app that is mounted in another one has no lifespan."""
        if self._running is None:
            self._running = asyncio.create_task(self._run())
            self._running.add_done_callback(self._on_end)
        await self._is_ready.wait()
        if self._running.done():
            raise HTTPException(503, "the MCP server does not run")

    async def _run(self) -> None:
        async with self._manager.run():
            self._is_ready.set()
            await self._context.closing.wait()

    def _on_end(self, running: asyncio.Task[None]) -> None:
        """Let requests that wait for the manager see that it does not run."""
        self._is_ready.set()
        if not running.cancelled() and (error := running.exception()) is not None:
            _log.error("the MCP server does not run", exc_info=error)


def _user_of(caller: Caller) -> AuthenticatedUser:
    """Return the caller for the SDK, which lets no other one use the connection of a client."""
    token = AccessToken(token="", client_id=caller.name, subject=caller.tenant, scopes=[])
    return AuthenticatedUser(token)


def _caller_of(request: ServerRequestContext[Any, Any]) -> Caller:
    """Return the caller of the HTTP request that brought a message."""
    return cast("Caller", cast("Request", request.request).scope[_CALLER])
