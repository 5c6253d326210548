"""Connections of MCP clients over HTTP, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mcp_clients import INITIALIZE
from symposia.config.settings import load_settings
from symposia.web.app import create_app
from symposia.web.mcp import http
from symposia.web.mcp.mount import PATH

HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(load_settings(redis_url=redis_url, data_dir=tmp_path), authenticate=False)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1), headers=HEADERS) as client:
        yield client


def test_connections_of_a_caller_are_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_OF_CALLER", 2)
    opened = [client.post(PATH, json=INITIALIZE) for _ in range(3)]
    assert [answer.status_code for answer in opened] == [200, 200, 429]
    assert opened[-1].json()["detail"] == "more than 2 open MCP connections: end some with DELETE"
    ended = client.delete(PATH, headers={"Mcp-Session-Id": opened[0].headers["mcp-session-id"]})
    assert ended.status_code == 200
    assert client.post(PATH, json=INITIALIZE).status_code == 200


@pytest.mark.timeout(60)
def test_server_that_cannot_start_answers_503(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http._Connections, "run", None)
    for _ in range(2):
        assert client.post(PATH, json=INITIALIZE).status_code == 503
