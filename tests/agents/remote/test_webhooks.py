"""Deliveries: only to public addresses and allowed networks."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from ipaddress import ip_address, ip_network

import pytest

from scaling import patient
from servers.remote_system import RemoteSystem
from symposia.agents.remote.http_call import HttpTarget, is_public
from symposia.agents.remote.webhook import post_webhook
from symposia.models.errors import AgentFailed

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def system():
    it = RemoteSystem()
    yield it
    it.close()


def target(url, *, networks=LOOPBACK, timeout_s=10.0, **more):
    return HttpTarget(url, timeout_s, networks, **more)


def names(*addresses):
    """A resolver that answers each look-up with the next list of addresses."""
    asked = []

    def resolve(host, port, **_):
        found = addresses[min(len(asked), len(addresses) - 1)]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    resolve.asked = asked
    return resolve


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.1.2.3", "255.255.255.255", "224.0.0.1", "192.0.2.1", "198.18.0.1"),
        *("::1", "::", "fe80::1", "fc00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
        *("2001:0:7f00:1::", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "fec0::1"),
    ],
)
def test_private_address_is_not_public_in_any_form(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_public_address_is_accepted(address):
    assert is_public(ip_address(address))


def test_webhook_body_arrives_unchanged(system):
    post_webhook(target(system.url + "?x=1"), b'{"a": 1}', {"webhook-id": "7"})
    ((headers, body),) = system.deliveries
    assert (body, headers["webhook-id"], headers["content-type"]) == (b'{"a": 1}', "7", "application/json")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://127.1:{port}/",
        "https://127.0.0.1:{port}/",
    ],
)
def test_own_machine_is_not_called_by_default(system, url):
    port = system.url.split(":")[2].split("/")[0]
    with pytest.raises(AgentFailed, match="neither public nor") as error:
        post_webhook(target(url.format(port=port), networks=()), b"x", {})
    assert system.deliveries == []
    assert not error.value.retryable


def test_one_forbidden_address_forbids_the_name(system):
    resolve = names(["8.8.8.8", "10.0.0.1"])
    with pytest.raises(AgentFailed, match=r"hooks\.example resolves to 10\.0\.0\.1, which is neither public"):
        post_webhook(target("https://hooks.example/", resolve=resolve), b"x", {})


def test_dns_rebinding_calls_the_checked_address(system):
    """DNS rebinding: the second look-up would lead inside, but there is none."""
    port = int(system.url.split(":")[2].split("/")[0])
    resolve = names(["127.0.0.1"], ["127.0.0.2"])
    allowed = (ip_network("127.0.0.1/32"),)
    post_webhook(target(f"http://hooks.example:{port}/", networks=allowed, resolve=resolve), b"x", {})
    assert resolve.asked == ["hooks.example"]
    assert system.deliveries[0][0]["host"] == f"hooks.example:{port}"
    with pytest.raises(AgentFailed, match=r"127\.0\.0\.2, which is neither public"):
        post_webhook(target(f"http://hooks.example:{port}/", networks=allowed, resolve=resolve), b"x", {})
    assert len(system.deliveries) == 1


def test_public_address_is_called_only_with_tls():
    with pytest.raises(AgentFailed, match="must be called with https") as error:
        post_webhook(target("http://hooks.example/", resolve=names(["8.8.8.8"])), b"x", {})
    assert not error.value.retryable


def test_a_redirect_is_not_followed(system):
    other = RemoteSystem()
    try:
        system.answers = [(307, {"Location": other.url})]
        with pytest.raises(AgentFailed, match="answered HTTP 307: redirects are not followed") as error:
            post_webhook(target(system.url), b"x", {})
        assert not error.value.retryable
        assert other.deliveries == []
    finally:
        other.close()


def test_no_proxy_of_the_environment_is_used(system, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    post_webhook(target(system.url), b"x", {})
    assert len(system.deliveries) == 1


@pytest.mark.parametrize(
    ("status", "headers", "again", "after_s"),
    [
        (500, {}, True, None),
        (503, {"Retry-After": "7"}, True, 7.0),
        (429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, True, None),
        (408, {}, True, None),
        (400, {}, False, None),
        (401, {}, False, None),
        (404, {}, False, None),
        (410, {}, False, None),
    ],
)
def test_only_temporary_http_errors_are_retried(system, status, headers, again, after_s):
    system.answers = [(status, headers)]
    with pytest.raises(AgentFailed, match=rf"^127\.0\.0\.1 answered HTTP {status}$") as error:
        post_webhook(target(system.url), b"x", {})
    assert (error.value.retryable, error.value.retry_after_s) == (again, after_s)


def test_unreachable_webhook_is_retryable(system):
    url = system.url
    system.close()
    with pytest.raises(AgentFailed, match=r"does not answer: .*refused") as error:
        post_webhook(target(url), b"x", {})
    assert error.value.retryable
    system.__init__()


def test_slow_server_is_cut_off(system):
    system.drip_s = 0.05
    with pytest.raises(AgentFailed, match="does not answer"):
        post_webhook(target(system.url, timeout_s=0.5), b"x", {})


def test_slow_second_address_is_cut_off_too(system):
    """The first address accepts no connection, which leaves no time for the second."""
    system.drip_s = 0.05
    port = int(system.url.split(":")[2].split("/")[0])
    resolve = names(["127.0.0.2", "127.0.0.1"])
    with socket.create_server(("127.0.0.2", port), backlog=0) as full, ExitStack() as callers:
        for _ in range(3):
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        with pytest.raises(AgentFailed, match="does not answer: timed out"):
            post_webhook(target(f"http://hooks.example:{port}/", timeout_s=0.5, resolve=resolve), b"x", {})
    assert system.deliveries == []


def test_https_needs_a_server_with_tls(system):
    with pytest.raises(AgentFailed, match="does not answer"):
        post_webhook(target(system.url.replace("http:", "https:")), b"x", {})


def test_slow_dns_lookup_is_a_retryable_failure(system):
    is_over = threading.Event()

    def hangs(*_, **__):
        is_over.wait(patient(60))
        raise OSError("too late")

    try:
        with pytest.raises(AgentFailed, match=r"DNS look-up of .* failed: no answer within") as error:
            post_webhook(target("https://hooks.example/turns", timeout_s=0.2, resolve=hangs), b"{}", {})
    finally:
        is_over.set()
    assert error.value.retryable
