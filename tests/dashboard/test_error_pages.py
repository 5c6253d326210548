"""Errors: a page with navigation for people, JSON for scripts, one line for both."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from live import until
from servers.flower import FlowerServer, basic
from symposia.client.embedded import EmbeddedServer

pytestmark = pytest.mark.long

UNKNOWN = "0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11"


def reason_of(page: str) -> str:
    """The line of an error page, which has navigation and no script of its own."""
    assert 'href="/inbox"' in page
    assert "Traceback" not in page
    assert 'type="module"' not in page
    found = re.search(r'<p id="reason">(.*?)</p>', page, re.DOTALL)
    assert found, page
    return found[1]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/collabs/{UNKNOWN}", 404, UNKNOWN),
        (f"/reviews/{UNKNOWN}", 404, UNKNOWN),
        (f"/reviews/{UNKNOWN}/report/html", 404, UNKNOWN),
        (f"/reviews/{UNKNOWN}/report/paper", 400, "format"),
        ("/collabs/not-an-id", 404, "not valid"),
        ("/reviews/not-an-id", 404, "not valid"),
        ("/schedules/x", 404, "not valid"),
    ],
)
def test_an_error_of_a_page_is_a_page(dashboard, path, status, words):
    answer = dashboard.flower.get(path)
    assert answer.status == status
    assert answer.headers["content-type"].startswith("text/html")
    assert words in reason_of(answer.text)
    assert 'href="/collabs">All sessions' in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/api/collabs/{UNKNOWN}", 404),
        (f"/api/reviews/{UNKNOWN}", 404),
        ("/api/collabs/not-an-id", 404),
        ("/api/reviews/not-an-id", 404),
        (f"/api/collabs/{UNKNOWN}/nothing", 404),
        ("/api/collabs?limit=0", 400),
        (f"/api/collabs/{UNKNOWN}/export/json", 404),
    ],
)
def test_an_error_of_the_api_is_json(dashboard, path, status):
    answer = dashboard.flower.get(path)
    assert (answer.status, sorted(answer.json())) == (status, ["error", "health"])


def test_other_errors_of_pages_are_pages(dashboard):
    foreign = dashboard.flower.get("/collabs", Host="evil.example")
    assert (foreign.status, "SYMPOSIA_FLOWER_HOSTS" in reason_of(foreign.text)) == (403, True)
    anonymous = replace(dashboard.flower, credentials="")
    for headers in ({}, basic("ann:wrong")):
        answer = anonymous.get("/collabs", **headers)
        assert (answer.status, reason_of(answer.text)) == (401, "Unauthorized")
    assert anonymous.get("/collabs/not-an-id").status == 401


def test_a_lost_redis_is_one_line(tmp_path, settings):
    with EmbeddedServer(tmp_path / "own", durable=False, bound=True) as server:
        flower = FlowerServer(tmp_path, settings | {"redis_url": server.url}).start()
        try:
            assert flower.get("/collabs").status == 200
            server.stop()
            assert_unavailable(flower)
        finally:
            flower.kill()


def test_a_redis_that_never_answered_is_one_line(tmp_path, settings):
    with EmbeddedServer(tmp_path / "own", durable=False, bound=True) as server:
        url = server.url
    flower = FlowerServer(tmp_path, settings | {"redis_url": url}).start()
    try:
        for path in ("/collabs", "/inbox", "/reviews", "/api/collabs"):
            assert flower.get(path).status == 503, path
        assert_unavailable(flower)
    finally:
        flower.kill()


def assert_unavailable(flower: FlowerServer) -> None:
    page = until(lambda: (it := flower.get(f"/collabs/{UNKNOWN}")).status == 503 and it, what="Redis is lost")
    assert "does not answer" in reason_of(page.text)
    for path in (f"/api/collabs/{UNKNOWN}", "/api/inbox", "/api/schedules", f"/api/collabs/{UNKNOWN}/stream"):
        answer = flower.get(path)
        assert answer.status == 503, (path, answer)
        line = answer.json()["error"]
        assert "does not answer" in line
        assert "\n" not in line
    log = flower.log()
    assert "Traceback" not in log, log
    assert 1 <= sum("pages answer with status 503" in line for line in log.splitlines()) <= 4, log
