"""The MCP server on standard input and output, for a client that starts it: `symposia mcp`.

Standard output has nothing but the protocol: while the server runs, the SDK points file descriptor 1 at standard error.
"""

from __future__ import annotations

import asyncio
import signal

from mcp.server.stdio import stdio_server

from ...client.aio.client import AsyncClient
from ...config.settings import Settings
from ...models.identity import LOCAL, Caller
from ..context import WebContext
from ..identity import local_caller
from ..limits import CallerLimits
from .options import ServerOptions
from .server import build_server
from .session_tools import SessionTools


def run_stdio(settings: Settings, *, caller: Caller = LOCAL) -> None:
    """Serve a client until it closes standard input.

    Args:
        settings: Settings of the installation.
        caller: The user of the client.

    Raises:
        InvalidInput: A session file of the setting `jobs` is not valid, or two have the same tool name.
    """
    tools = SessionTools.of(settings)
    tools.check()
    # A thread of the SDK reads standard input and cannot be interrupted. Nothing is lost: sessions run in workers.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(settings, tools, caller))


async def _serve(settings: Settings, tools: SessionTools, caller: Caller) -> None:
    options = ServerOptions(settings.mcp_wait_s, cancels=settings.mcp_cancel_sessions, is_local=True)
    async with AsyncClient(settings) as client:
        context = WebContext(client, settings, local_caller, CallerLimits(None))
        server = build_server(context, tools, options, find_caller=lambda _: caller)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
