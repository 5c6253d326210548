"""`rediss://`: sessions and tasks travel encrypted, and only to a server whose certificate is trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from kombu.exceptions import OperationalError

from live import REGISTRY, LiveWorker, result_of, until
from scaling import patient
from servers.tls import certificate, tls_front
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.client import Client
from symposia.client.building.broker import broker_connection, broker_url_in_use
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.errors import RedisUnavailable
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.redis.connect import aconnect, connect


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The URL of a server with TLS, without its trust settings, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = certificate(folder, "server")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        credentials, _, address = server.url.removeprefix("redis://").rpartition("@")
        with tls_front(int(address.partition(":")[2].partition("/")[0]), made, key) as port:
            yield f"rediss://{credentials}@127.0.0.1:{port}/0", made


@pytest.mark.long
def test_session_runs_over_tls(encrypted, tmp_path):
    url, made = encrypted
    (tmp_path / "agents.toml").write_text(REGISTRY)
    trusting = f"{url}?ssl_ca_certs={made}"
    environment = {
        "SYMPOSIA_REDIS_URL": trusting,
        "SYMPOSIA_BROKER_URL": trusting.replace("/0?", "/1?"),
        "SYMPOSIA_AGENTS_FILE": str(tmp_path / "agents.toml"),
        "SYMPOSIA_DATA_DIR": str(tmp_path),
    }
    settings = load_settings(
        redis_url=environment["SYMPOSIA_REDIS_URL"],
        broker_url=environment["SYMPOSIA_BROKER_URL"],
        data_dir=tmp_path,
    )
    worker = LiveWorker("w1", tmp_path, environment, app="symposia.workers", concurrency=2)
    try:
        worker.wait_ready()
        people = [Participant(participant_id=name) for name in ("ann", "bob")]
        collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
        job = Client(settings).submit(collab, agents={"ann": "say", "bob": "say"}, stop={"max_rounds": 2})
        assert result_of(job).turns == 4
        until(
            Client(settings)._installation.sessions.workers.list_alive, what="the worker has announced itself"
        )
        assert [it for it in run_checks(settings) if it.grade is Grade.BAD] == []
    finally:
        worker.close()


def test_untrusted_store_certificate_is_refused(encrypted, tmp_path):
    url, _ = encrypted
    other, _ = certificate(tmp_path, "other")
    for untrusted in (url, f"{url}?ssl_ca_certs={other}"):
        with (
            connect(untrusted, retries=0) as client,
            pytest.raises(RedisUnavailable, match=r"(?i)certificate"),
        ):
            client.ping()


async def _asked(url: str) -> None:
    async with aconnect(url) as client:
        await client.ping()


def test_asyncio_refuses_untrusted_servers(encrypted):
    with pytest.raises(RedisUnavailable, match=r"(?i)certificate"):
        asyncio.run(_asked(encrypted[0]))


@pytest.mark.long
def test_untrusted_broker_gets_no_task(encrypted, tmp_path):
    url, _ = encrypted
    other, _ = certificate(tmp_path, "other")
    for untrusted in (url, f"{url}?ssl_ca_certs={other}"):
        settings = load_settings(broker_url=untrusted, data_dir=tmp_path)
        with (
            broker_connection(broker_url_in_use(settings), timeout_s=patient(5)) as broker,
            pytest.raises(OperationalError, match=r"(?i)certificate"),
        ):
            broker.ensure_connection(max_retries=1, timeout=patient(5))


@pytest.mark.long
def test_server_without_tls_is_refused(redis_url):
    plain = redis_url.replace("redis://", "rediss://")
    with connect(plain, retries=0) as client, pytest.raises(RedisUnavailable):
        client.ping()
