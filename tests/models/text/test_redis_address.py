"""URLs of one server, of a cluster and of Sentinels, taken apart."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.redact import without_password
from symposia.models.text.redis_address import RedisAddress, RedisKind

HOSTS = st.sampled_from(["db", "db-2.example.com", "127.0.0.1", "[::1]"])
NODES = st.lists(st.tuples(HOSTS, st.integers(1, 65_535)), min_size=1, max_size=4)
PASSWORDS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=6, max_size=20)


@pytest.mark.parametrize(
    ("url", "kind", "plain", "nodes", "master"),
    [
        ("redis://db/2", "server", "redis://db/2", (("db", 6379),), ""),
        ("redis+cluster://a,b:7000", "cluster", "redis://a:6379/0", (("a", 6379), ("b", 7000)), ""),
        ("rediss+cluster://u:p@a:1/0", "cluster", "rediss://u:p@a:1/0", (("a", 1),), ""),
        (
            *("redis+sentinel://:p@a,b:7/main/3?socket_timeout=3", "sentinel"),
            *("redis://:p@a:26379/3?socket_timeout=3", (("a", 26379), ("b", 7)), "main"),
        ),
        ("redis+sentinel://a/main", "sentinel", "redis://a:26379/0", (("a", 26379),), "main"),
    ],
)
def test_each_form_of_url_is_read(url, kind, plain, nodes, master):
    address = RedisAddress.parse(url)
    assert (address.kind, address.plain, address.nodes, address.master) == (kind, plain, nodes, master)
    assert address.is_tls == url.startswith("rediss")


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://db", "must start with one of redis://, rediss://, redis[+]cluster://"),
        ("redis+cluster://a:7000/1", "must not name a database"),
        ("redis+cluster://a:7000?db=1", "must not name a database"),
        ("redis+cluster://a:7000,", "must list the hosts of the cluster, such as host1:6379"),
        ("redis+cluster://a:b", "port must be a number from 0 to 65535"),
        ("redis+sentinel://a:26379", "must name the Sentinels' master"),
        ("redis+sentinel://a:26379/main/x", "must name the Sentinels' master"),
        (
            "redis://a/0?sentinel_password=secret",
            "must be a redis[+]sentinel:// URL to use sentinel_password",
        ),
    ],
)
def test_invalid_address_is_refused(url, rule):
    with pytest.raises(ValueError, match=rule) as refused:
        RedisAddress.parse(url)
    assert "secret" not in str(refused.value)


@given(NODES, PASSWORDS, PASSWORDS, st.sampled_from(["redis", "rediss"]))
def test_every_node_is_found_and_no_password_is_shown(nodes, password, of_sentinels, scheme):
    hosts = ",".join(f"{host}:{port}" for host, port in nodes)
    query = f"?sentinel_password={quote(of_sentinels, safe='')}"
    url = f"{scheme}+sentinel://me:{quote(password, safe='')}@{hosts}/main/1{query}"
    address = RedisAddress.parse(url)
    assert address.kind is RedisKind.SENTINEL
    assert address.nodes == tuple((host.strip("[]"), port) for host, port in nodes)
    assert address.sentinel == {"password": of_sentinels}
    for shown in (repr(address), without_password(url)):
        assert quote(password, safe="") not in shown.replace(scheme, "").replace(hosts, "")
        assert quote(of_sentinels, safe="") not in shown.replace(scheme, "").replace(hosts, "")
