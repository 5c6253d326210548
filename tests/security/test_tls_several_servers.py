"""`rediss+cluster://` and `rediss+sentinel://`: every node is spoken to over TLS, and its certificate is verified."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import until
from scaling import patient
from servers.redis_nodes import HOST, MASTER, SLOTS, Node
from servers.tls import certificate
from symposia.client.building.broker import broker_connection, check_broker
from symposia.models.errors import BrokerUnavailable, RedisUnavailable
from symposia.state.redis.connect import aconnect, connect
from symposia.state.sessions.index import SessionIndex


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A folder, a certificate and its key."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed, which speaks TLS: `make debian-packages` installs it")
    folder = tmp_path_factory.mktemp("tls")
    return folder, *certificate(folder, "server")


def node(files: tuple[Path, Path, Path], name: str, *options: str) -> Node:
    folder, made, key = files
    chosen = ("--tls-cert-file", str(made), "--tls-key-file", str(key), "--tls-ca-cert-file", str(made))
    chosen += ("--tls-auth-clients", "no", "--tls-replication", "yes", *options)
    return Node(folder / name, *chosen, program=Path("redis-server"), certificate=made)


@pytest.fixture(scope="module")
def cluster_url(files: tuple[Path, Path, Path]) -> Iterator[str]:
    """A cluster of one node, without what to trust."""
    one = node(files, "cluster", "--save", "", "--cluster-enabled", "yes", "--tls-cluster", "yes").start()
    one.client.execute_command("CLUSTER ADDSLOTSRANGE", 0, SLOTS - 1)
    until(lambda: one.client.execute_command("CLUSTER INFO")["cluster_state"] == "ok", what="it is a cluster")
    yield f"rediss+cluster://{one.address}"
    one.close()


@pytest.fixture(scope="module")
def sentinel_url(files: tuple[Path, Path, Path]) -> Iterator[str]:
    """A master and its Sentinel, without what to trust."""
    master = node(files, "master", "--save", "").start()
    sentinel = node(files, "sentinel")
    file = files[0] / "sentinel" / "sentinel.conf"
    file.write_text(f"sentinel monitor {MASTER} {HOST} {master.port} 1\n")
    sentinel.start(str(file), "--sentinel")
    yield f"rediss+sentinel://{sentinel.address}/{MASTER}/0"
    sentinel.close()
    master.close()


async def _there(url: str) -> bool:
    client = aconnect(url)
    try:
        return bool(await client.exists("symposia:due"))
    finally:
        await client.aclose()


@pytest.mark.parametrize("kind", ["cluster_url", "sentinel_url"])
@pytest.mark.long
def test_every_node_uses_verified_tls(kind, files, request):
    url = request.getfixturevalue(kind)
    trusting = f"{url}?ssl_ca_certs={files[1]}"
    with connect(trusting) as client:
        SessionIndex(client).add_session("s", look_in_ms=0)
    assert asyncio.run(_there(trusting))
    with connect(url, retries=0) as client, pytest.raises(RedisUnavailable, match=r"(?i)certificate"):
        client.ping()
    with pytest.raises(RedisUnavailable, match=r"(?i)certificate"):
        asyncio.run(_there(url))


@pytest.mark.long
def test_tasks_use_tls_with_sentinels(sentinel_url, files):
    check_broker(f"{sentinel_url}?ssl_ca_certs={files[1]}")
    with pytest.raises(BrokerUnavailable, match=r"(?i)certificate"):
        check_broker(sentinel_url)
    with (
        broker_connection(sentinel_url, timeout_s=patient(2)) as broker,
        pytest.raises(Exception, match=r"No master found"),
    ):
        broker.ensure_connection(max_retries=1, timeout=patient(3))
