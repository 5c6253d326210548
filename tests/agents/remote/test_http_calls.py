"""Requests to named hosts: the answer is read up to a size, over TLS that is trusted."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from servers.code_hosts.json_server import TOKEN, Answer, JsonServer, Route
from servers.tls import certificate, tls_front
from symposia.agents.remote.http_call import HttpTarget, http_call
from symposia.models.errors import AgentFailed

HEADERS = {"Authorization": f"Bearer {TOKEN}"}


class Letters(JsonServer):
    """Answers with 20 letters."""

    def routes(self) -> list[Route]:
        return [("GET", "/letters", self._letters)]

    def _letters(self, **_: Any) -> Answer:
        return 200, "x" * 20


@pytest.fixture
def server() -> Iterator[Letters]:
    it = Letters()
    yield it
    it.close()


def target(url: str, **more: Any) -> HttpTarget:
    return HttpTarget(url, 10, (ip_network("127.0.0.0/8"),), **more)


def test_answer_has_status_headers_and_body(server):
    answer = http_call(target(f"{server.url}/letters"), "GET", HEADERS, max_bytes=22)
    assert (answer.status, answer.is_success, answer.body) == (200, True, b'"' + b"x" * 20 + b'"')
    assert answer.headers["content-length"] == "22"
    refused = http_call(target(f"{server.url}/letters"), "GET", {}, max_bytes=100)
    assert (refused.status, refused.is_success, refused.is_transient) == (401, False, False)


def test_larger_answer_is_a_permanent_failure(server):
    with pytest.raises(AgentFailed, match=r"127\.0\.0\.1 answered more than 21 bytes") as error:
        http_call(target(f"{server.url}/letters"), "GET", HEADERS, max_bytes=21)
    assert not error.value.retryable


def test_body_is_read_only_if_asked_for(server):
    assert http_call(target(f"{server.url}/letters"), "GET", HEADERS).body == b""


def test_own_certificates_can_be_trusted(server, tmp_path: Path):
    made, key = certificate(tmp_path, "host")
    port = int(server.url.rpartition(":")[2])
    with tls_front(port, made, key) as front:
        url = f"https://127.0.0.1:{front}/letters"
        assert http_call(target(url, ca_file=made), "GET", HEADERS, max_bytes=100).status == 200
        with pytest.raises(AgentFailed, match=r"does not answer: .*certificate verify failed"):
            http_call(target(url), "GET", HEADERS)
