"""Deploying: the server settings and addresses of the pages, read by a server and by the settings.

`tests/sessions/brokers` runs sessions on Sentinel, a cluster and RabbitMQ, `tests/security` with the users of the pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.pages import Page
from servers.own_server import own_server
from symposia.cli.doctor.server_checks import check_durability
from symposia.config.settings import load_settings
from symposia.models.text.redis_address import RedisAddress, RedisKind
from symposia.state.redis.connect import connect

REDIS = Page("docs/deploying-redis.md")
DATABASES = Page("docs/deploying-databases.md")
PERSISTENCE = REDIS.take("text", "appendonly yes")
REPLICATION = REDIS.take("text", "min-replicas-to-write")
SENTINEL = REDIS.take("text", "redis+sentinel://")
CLUSTER = REDIS.take("text", "redis+cluster://")
TLS = REDIS.take("text", "rediss://")
BROKER = DATABASES.take("text", "SYMPOSIA_BROKER_URL")
DATABASE = DATABASES.take("text", "SYMPOSIA_DATABASE_URL")

URL = "redis://127.0.0.1:{port}/0"


@pytest.mark.parametrize("lines", [PERSISTENCE, REPLICATION])
def test_server_takes_the_lines(tmp_path: Path, lines: str) -> None:
    with own_server(tmp_path, *lines.splitlines(), url=URL) as url, connect(url) as client:
        for line in lines.splitlines():
            name, value = line.split()
            (said,) = client.config_get(name).values()
            assert said == {"8gb": str(8 * 1024**3), '""': ""}.get(value, value)


def test_doctor_is_content_with_the_persistence(tmp_path: Path) -> None:
    with own_server(tmp_path, *PERSISTENCE.splitlines(), url=URL) as url, connect(url) as client:
        assert list(check_durability(client)) == []


@pytest.mark.parametrize("lines", [SENTINEL, CLUSTER, TLS, BROKER, DATABASE])
def test_variables_are_read(lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", "redis://h")
    expected = dict(it.split("=", maxsplit=1) for it in lines.splitlines())
    for name, value in expected.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    for name, value in expected.items():
        assert getattr(settings, name.removeprefix("SYMPOSIA_").lower()).get_secret_value() == value


@pytest.mark.parametrize(
    ("lines", "kind", "hosts"),
    [
        (SENTINEL, RedisKind.SENTINEL, ["host1", "host2", "host3"]),
        (CLUSTER, RedisKind.CLUSTER, ["host1", "host2"]),
        (TLS, RedisKind.SINGLE, ["valkey.example.com"]),
    ],
)
def test_addresses_name_their_servers(lines: str, kind: RedisKind, hosts: list[str]) -> None:
    address = RedisAddress.parse(lines.splitlines()[0].partition("=")[2])
    assert (address.kind, [host for host, _ in address.nodes]) == (kind, hosts)
    assert address.is_tls is (lines == TLS)
