"""The MCP server over streamable HTTP at `/mcp`, with the callers of the HTTP API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...models.errors import SymposiaError
from ...models.identity import Caller
from ..context import WebContext
from ..problems import problem_of, problem_response
from .options import ServerOptions
from .server import build_server
from .session_tools import SessionTools

PATH = "/mcp"
#: Maximum number of connected clients of a process.
_MAX_CLIENTS = 1_000
#: Key of the caller in the scope of a request.
_CALLER = "symposia.caller"


class McpEndpoint:
    """The ASGI app: identifies the caller, and passes the request to the SDK."""

    def __init__(self, context: WebContext, manager: StreamableHTTPSessionManager) -> None:
        self._context = context
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        header = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        try:
            caller = await self._context.identify(None if header is None else header.decode("latin-1"))
            self._context.limits.count_request(caller)
            # Each request may wait: it counts as a stream.
            with self._context.limits.stream(caller):
                scope = {**scope, _CALLER: caller, "user": _user_of(caller)}
                await self._manager.handle_request(scope, receive, send)
        except SymposiaError as error:
            await problem_of(error)(scope, receive, send)
        except HTTPException as error:
            refusal = problem_response(error.status_code, str(error.detail), headers=error.headers)
            await refusal(scope, receive, send)


def _user_of(caller: Caller) -> AuthenticatedUser:
    """Return the caller for the SDK, which lets no other one use the connection of a client."""
    return AuthenticatedUser(
        AccessToken(token="", client_id=caller.name, subject=caller.tenant, scopes=[])  # noqa: S106 - none
    )


def _caller_of(request: ServerRequestContext[Any, Any]) -> Caller:
    caller = request.request.scope[_CALLER]
    assert isinstance(caller, Caller)  # noqa: S101
    return caller
