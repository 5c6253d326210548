"""Commands of docs/deploying-databases.md and docs/deploying-redis.md on real servers."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from documents.installation import installed
from documents.lines import ROOT
from documents.tools import use_postgres, use_rabbitmqctl, use_redis_cli
from documents.walk import Walk
from processes.terminal import Terminal
from servers.granted import PASSWORD, granted_server, read_rule, url_of
from servers.postgres import MISSING, own_postgres, programs
from servers.rabbit import MISSING as NO_RABBIT
from servers.rabbit import own_rabbit, program

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


def test_postgres(tmp_path: Path) -> None:
    if (found := programs()) is None:
        pytest.skip(MISSING)
    with own_postgres(found) as server:
        Walk(
            Terminal(tmp_path, {}),
            environment=use_postgres(server.url),
            typed={"createuser": f"{PASSWORD}\n{PASSWORD}\n"},
        ).follow("deploying-databases.md", "PostgreSQL")
        with psycopg.connect(server.url) as client:
            (stored,) = client.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'symposia'")
        assert stored[0].startswith("SCRAM-SHA-256$")
        url = server.url.replace("tester@", f"symposia:{PASSWORD}@").removesuffix("postgres") + "symposia"
        with installed(tmp_path, database_url=url) as installation:
            installation.wait_until_archived(installation.complete(installation.submit("examples/pair.yaml")))
            assert "That one subtracts." in installation.terminal.run("search", "subtracts").out


def test_rabbitmq(tmp_path: Path) -> None:
    if (found := program()) is None:
        pytest.skip(NO_RABBIT)
    with own_rabbit(found) as node:
        Walk(
            Terminal(tmp_path, {}),
            environment=use_rabbitmqctl(tmp_path / "bin", node),
            typed={"rabbitmqctl add_user": f"{PASSWORD}\n"},
        ).follow("deploying-databases.md", "RabbitMQ")
        with installed(tmp_path, broker_url=node.url_of("symposia", PASSWORD)) as installation:
            installation.complete(installation.submit("examples/pair.yaml"))


def test_redis_persistence(tmp_path: Path) -> None:
    page = (ROOT / "docs/deploying-redis.md").read_text()
    configuration = re.findall(r"^```\w*\n(appendonly .*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    with installed(tmp_path, configuration=configuration) as installation:
        seen: list[str] = []
        Walk(
            installation.terminal,
            environment=use_redis_cli(tmp_path / "bin", installation.url),
            after={"redis-cli INFO": seen.append},
            awaited={"symposia doctor": "✓ Redis"},
        ).follow("deploying-redis.md", "Persistence and memory")
    assert {"aof_enabled:1", "maxmemory_human:8.00G", "maxmemory_policy:noeviction"} <= set(
        "".join(seen).split()
    )


def test_redis_users(tmp_path: Path) -> None:
    with granted_server(tmp_path) as (_, admin):
        with (tmp_path / "users.acl").open("a") as users:
            users.write(read_rule("deploying-redis.md", "keda") + "\n")

        def use_keda() -> None:
            with Redis.from_url(url_of("keda", admin)) as keda:
                assert keda.llen("symposia") == 0
                with pytest.raises(NoPermissionError):
                    keda.set("symposia", "x")

        seen: list[str] = []
        Walk(
            Terminal(tmp_path, {}),
            environment=use_redis_cli(tmp_path / "bin", admin),
            before={"redis-cli ACL LOG": use_keda},
            after={"redis-cli ACL": seen.append},
        ).follow("deploying-redis.md", "Users")
        assert "keda" in seen[1]
