"""The MCP server as a part of the HTTP API, loaded with its first request: the SDK takes 18 MB of memory."""

from __future__ import annotations

import asyncio
from importlib import import_module

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..context import WebContext
from .tool_names import tool_names

PATH = "/mcp"


def mount(app: FastAPI, context: WebContext) -> None:
    """Add the MCP server to an app.

    Raises:
        InvalidInput: Two session files would have the same tool name.
    """
    tool_names(context.settings.jobs)
    app.router.routes.append(Route(PATH, _LoadedEndpoint(context), include_in_schema=False))


class _LoadedEndpoint:
    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._endpoint: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._endpoint is None:
            await asyncio.to_thread(import_module, ".http", __package__)
        await self._load()(scope, receive, send)

    def _load(self) -> ASGIApp:
        """Return the only endpoint: it has the connections of all clients."""
        if self._endpoint is None:
            from .http import McpEndpoint

            self._endpoint = McpEndpoint(self._context)
        return self._endpoint
