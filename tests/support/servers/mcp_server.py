"""A real server of the Model Context Protocol, over its standard streams."""

from __future__ import annotations

import os

from mcp.server.mcpserver import Context, MCPServer

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


if __name__ == "__main__":
    server.run(transport="stdio")
