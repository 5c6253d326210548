"""A real server of the Model Context Protocol: over its standard streams, or `mcp_server.py sse 8080` over HTTP."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("rooms")


@server.tool()
def book(room: str, ctx: Context) -> str:
    """Books a room."""
    meta = dict(ctx.request_context.meta or {})
    return f"{room} is booked, {os.environ.get('ROOMS_OWNER', 'by nobody')}, effect {meta.get('symposia/effect_id')}"


@server.tool()
def burn(room: str) -> str:
    """Burns a room down."""
    return f"{room} is gone"


@server.tool()
def find(room: str) -> str:
    """Finds a room."""
    raise ToolError(f"there is no room {room}, token sk-house-12345678")


@server.tool()
def leave() -> str:
    """Ends the server."""
    os._exit(1)


@server.tool()
def header(name: str, ctx: Context) -> str:
    """Returns a header of the request."""
    return str(ctx.request_context.request.headers.get(name))


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run(transport=sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run(transport="stdio")
