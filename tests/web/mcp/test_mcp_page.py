"""The configurations of docs/mcp.md and of the README, as clients read them."""

from __future__ import annotations

import json
from contextlib import closing

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from documents.pages import Page
from mcp_clients import run
from processes.terminal import PROGRAM
from servers.web import WebServer

#: The first test starts a worker.
pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]

PAGE = Page("docs/mcp.md")
STDIO = PAGE.take("json", '"command"')
HTTP = PAGE.take("json", '"headers"')
README_PAGE = Page("README.md")
README = README_PAGE.take("json", '"command"')


@pytest.mark.parametrize(
    ("text", "project", "tool"), [(STDIO, "/srv/shop", "standup"), (README, "/home/ann/my-project", "poem")]
)
def test_configuration_starts_the_server(terminal, text, project, tool):
    folder = str(terminal.folder)
    server = json.loads(text.replace("standup.yaml", "0.yaml").replace(project, folder))
    configured = server["mcpServers"]["symposia"]
    started = StdioServerParameters(
        command=configured["command"].replace("symposia", str(PROGRAM)),
        args=configured["args"],
        env={**terminal.environment, **configured.get("env", {})},
    )

    async def steps():
        async with Client(started) as client:
            assert tool in {it.name for it in (await client.list_tools()).tools}

    run(steps())


def test_configuration_reaches_the_server_over_http(terminal, create_token):
    server = WebServer(terminal.folder, terminal.settings, options=())
    configured = json.loads(HTTP)["mcpServers"]["symposia"]
    address = configured["url"].replace("https://symposia.example.com", f"http://127.0.0.1:{server.port}")
    headers = {
        name: value.replace("sym_...", create_token("ann")) for name, value in configured["headers"].items()
    }

    async def steps():
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            assert "poem" in {tool.name for tool in (await client.list_tools()).tools}

    with closing(server):
        server.start()
        run(steps())
