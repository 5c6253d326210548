"""What the pages refuse, and the headers with which they are sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from servers.flower import FlowerServer, basic
from symposia.web.hosts import allowed_hosts, is_allowed_host, refusal_of_action


@pytest.fixture(scope="module")
def flower(dashboard) -> FlowerServer:
    return dashboard.flower


@pytest.mark.parametrize("path", ["/collabs", "/api/collabs"])
def test_pages_have_strict_headers_and_no_cors(flower: FlowerServer, path):
    headers = flower.get(path, Origin="https://evil.example").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.long
def test_open_flower_api_adds_no_cors_to_the_pages(start_flower):
    flower = start_flower(environment={"FLOWER_UNAUTHENTICATED_API": "true"})
    assert "access-control-allow-origin" in flower.get("/api/workers").headers
    for answer in (flower.get("/api/collabs"), flower.request("OPTIONS", "/api/collabs")):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_has_no_inline_script_or_style(flower: FlowerServer):
    text = flower.get("/collabs").text
    assert "<style" not in text
    assert " style=" not in text
    assert " onclick=" not in text
    for part in text.split("<script")[1:]:
        assert " src=" in part.partition(">")[0]
        assert part.partition(">")[2].startswith("</script>")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:5555", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_only_known_hosts_are_answered(flower: FlowerServer, host, status):
    assert flower.get("/api/collabs", Host=host).status == status
    assert flower.get("/collabs", Host=host).status == status


@pytest.mark.long
def test_settings_add_hosts(start_flower):
    flower = start_flower(environment={"SYMPOSIA_FLOWER_HOSTS": "watch.example, other.example"})
    assert flower.get("/api/collabs", Host="watch.example").status == 200
    assert flower.get("/api/collabs", Host="third.example").status == 403


def test_basic_authentication_guards_every_address(flower: FlowerServer):
    anonymous = replace(flower, credentials="")
    for path in ("/collabs", "/api/collabs", "/api/collabs/stream", "/api/collabs/changes"):
        answer = anonymous.get(path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="flower"')
        assert anonymous.get(path, **basic("ann:wrong")).status == 401
    assert anonymous.get("/collabs", **basic(flower.credentials)).status == 200


@pytest.mark.parametrize(
    ("address", "names", "host", "allowed"),
    [
        ("127.0.0.1", (), "LocalHost", True),
        ("0.0.0.0", (), "0.0.0.0", False),  # noqa: S104
        ("10.0.0.7", (), "10.0.0.7", True),
        ("", ("Watch.Example.",), "watch.example", True),
        ("::", (), "::", False),
    ],
)
def test_host_header_is_checked(address, names, host, allowed):
    assert is_allowed_host(host, allowed_hosts(address, names)) is allowed


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({}, False),
        ({"Origin": "http://a.example:5555", "Sec-Fetch-Site": "same-origin"}, False),
        ({"Origin": "http://b.example:5555"}, True),
        ({"Origin": "http://a.example"}, True),
        ({"Origin": "https://a.example:5555"}, True),
        ({"Origin": "HTTP://A.example:5555"}, False),
        ({"Origin": "http://a.example:5555/"}, True),
        ({"Origin": "http://user@a.example:5555"}, True),
        ({"Origin": "null"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
    ],
)
def test_origin_of_actions_is_checked(headers, refused):
    assert (refusal_of_action(headers, "a.example:5555", "http") is not None) is refused
