"""The time limit of a call ends the wait for a form, and leaves no connection to Redis."""

from __future__ import annotations

import asyncio
import math
from urllib.parse import urlsplit

import psutil
import pytest
from mcp import Client

from live import until
from mcp_clients import run
from symposia import AsyncClient
from symposia.config.settings import load_settings
from symposia.models.identity import LOCAL
from symposia.web.context import WebContext
from symposia.web.identity import local_caller
from symposia.web.limits import CallerLimits
from symposia.web.mcp.options import ServerOptions
from symposia.web.mcp.server import build_server
from symposia.web.mcp.session_tools import SessionTools

#: The first test starts a worker.
pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]


def test_deadline_ends_an_open_form_and_leaves_no_connection(terminal):
    settings = load_settings(**terminal.settings)

    async def form(_context, _params):
        await asyncio.Event().wait()

    async def steps():
        # One thread: its connections do not change.
        async with AsyncClient(settings, max_threads=1, worker_grace_s=math.inf) as client:
            context = WebContext(client, settings, local_caller, CallerLimits(None))
            options = ServerOptions(timeout_s=1.5)
            server = build_server(context, SessionTools.of(settings), options, find_caller=lambda _: LOCAL)
            async with Client(server, mode="legacy", elicitation_callback=form) as mcp:
                await call(mcp)
                before = connections()
                await asyncio.gather(*(call(mcp) for _ in range(4)))
                await call(mcp)
                await asyncio.to_thread(until, lambda: connections() <= before, what="connections are closed")

    async def call(mcp):
        data = (await mcp.call_tool("old_room", {})).structured_content
        assert (data["ended"], len(data["questions"])) == (False, 1)
        await mcp.call_tool("cancel_session", {"session_id": data["session_id"]})

    def connections():
        peers = [connection.raddr for connection in psutil.Process().net_connections()]
        return len([peer for peer in peers if peer and peer.port == port])

    port = urlsplit(terminal.settings["redis_url"]).port
    run(steps())
