"""What requests pass before their route: hosts, origins, and the limit of failed authentications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from processes.terminal import Terminal
from symposia.client import Client
from symposia.config.settings import Settings, load_settings
from symposia.errors import InvalidInput
from symposia.web.app import create_app
from symposia.web.exposure import check_exposure
from symposia.workers.callbacks import FAILED_AUTH_BURST

SHOP = "https://shop.example"
ANY = "0.0.0.0"  # noqa: S104 - nothing listens there


@pytest.fixture
def settings(redis_url: str, tmp_path: Path) -> Settings:
    return load_settings(redis_url=redis_url, data_dir=tmp_path, http_cors_origins=(SHOP,))


@pytest.fixture
def open_app(settings: Settings) -> Iterator[Callable[..., TestClient]]:
    opened: list[TestClient] = []

    def open_one(*, authenticate: bool, address: str = "127.0.0.1") -> TestClient:
        app = create_app(settings, authenticate=authenticate)
        opened.append(TestClient(app, base_url="http://localhost:8765", client=(address, 1)).__enter__())
        return opened[-1]

    yield open_one
    for client in opened:
        client.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 422),
        ({"Host": "127.0.0.1:8765"}, 422),
        ({"Host": "[::1]:8765"}, 422),
        ({"Origin": "http://localhost:8765", "Sec-Fetch-Site": "same-origin"}, 422),
        ({"Host": "shop.example"}, 403),
        ({"Host": "localhost.shop.example"}, 403),
        ({"Host": "127.0.0.1.shop.example"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": SHOP}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
    ids=str,
)
def test_open_server_answers_its_own_machine_only(
    open_app: Callable[..., TestClient], headers: dict[str, str], status: int
) -> None:
    answer = open_app(authenticate=False).post("/v1/sessions", json={}, headers=headers)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


def test_open_server_refuses_other_machines(open_app: Callable[..., TestClient]) -> None:
    assert open_app(authenticate=False, address="192.0.2.7").get("/v1/files").status_code == 403
    assert open_app(authenticate=False).get("/v1/files").status_code == 200


def test_failed_authentications_are_limited(open_app: Callable[..., TestClient]) -> None:
    http = open_app(authenticate=True)
    statuses = [http.get("/v1/files").status_code for _ in range(int(FAILED_AUTH_BURST) * 3)]
    assert statuses[: int(FAILED_AUTH_BURST)] == [401] * int(FAILED_AUTH_BURST)
    assert 429 in statuses


def test_only_named_origins_may_read(open_app: Callable[..., TestClient]) -> None:
    http = open_app(authenticate=True)
    asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    allowed = http.options("/v1/files", headers={"Origin": SHOP, **asked})
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, SHOP)
    assert "access-control-allow-credentials" not in allowed.headers
    assert http.get("/v1/files", headers={"Origin": SHOP}).headers["access-control-allow-origin"] == SHOP
    for origin in ("https://shop.example.org", "http://shop.example", "null"):
        answer = http.options("/v1/files", headers={"Origin": origin, **asked})
        assert answer.status_code == 400
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["*", "shop.example", "https://shop.example/page", "https://a@shop.example"]
)
def test_wrong_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match="HTTP_CORS_ORIGINS"):
        load_settings(http_cors_origins=(origin,))


@pytest.mark.parametrize("host", [ANY, "::", "192.0.2.7", "shop.example", ""])
def test_other_machines_need_a_token(settings: Settings, host: str) -> None:
    with pytest.raises(InvalidInput, match="--no-auth"):
        check_exposure(settings, host, authenticate=False)
    with pytest.raises(InvalidInput, match="symposia token create"):
        check_exposure(settings, host, authenticate=True)
    with Client(settings) as client:
        client.tokens.create("ann", tenant="shop", scopes=["read"])
    check_exposure(settings, host, authenticate=True)
    for loopback in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        check_exposure(settings, loopback, authenticate=False)


def test_command_refuses_an_open_address(redis_url: str, tmp_path: Path) -> None:
    values: dict[str, Any] = {"redis_url": redis_url, "data_dir": str(tmp_path)}
    terminal = Terminal(tmp_path, values)
    try:
        for options in (("--host", ANY), ("--host", ANY, "--no-auth")):
            done = terminal.call("serve", *options)
            assert done.code == 2
            assert "--host: must be a loopback address" in done.err
    finally:
        terminal.close()
