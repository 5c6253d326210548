"""Disaster drills of docs/deploying-operations.md: what they promise holds after their commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from documents.installation import Installation, installed
from documents.tools import use_postgres, use_redis_cli
from documents.walk import Walk
from live import until
from processes.terminal import Running
from servers.postgres import Postgres, execute_on
from symposia.config.celery import QUEUE

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@pytest.fixture
def redis_cli(installation: Installation, tmp_path: Path) -> dict[str, str]:
    return use_redis_cli(tmp_path / "bin", installation.url)


def test_worker_is_killed(installation: Installation) -> None:
    sessions: list[str] = []
    Walk(
        installation.terminal,
        after={"symposia submit": lambda out: sessions.append(out.strip())},
        instead={"systemctl kill": installation.restart_worker},
        awaited={"symposia doctor": "workers", "symposia list": "A notice"},
    ).follow("deploying-operations.md", "Disaster drills", "A worker is killed")
    installation.answer(sessions[0])


def test_redis_restarts(installation: Installation) -> None:
    def restart() -> None:
        installation.node.kill()
        installation.start_redis()

    session = installation.ask()
    Walk(
        installation.terminal,
        instead={"systemctl restart valkey": restart},
        awaited={"symposia doctor": "workers"},
    ).follow("deploying-operations.md", "Redis restarts")
    installation.answer(session)


def test_redis_is_full(installation: Installation, redis_cli: dict[str, str]) -> None:
    session = installation.ask()
    installation.node.client.config_set("maxmemory-policy", "noeviction")
    installation.node.client.config_set("maxmemory", "1mb")
    refused = installation.terminal.call("submit", "session.yaml")
    assert (refused.code, "memory" in refused.err) == (4, True), refused
    Walk(
        installation.terminal,
        environment=redis_cli,
        awaited={
            "redis-cli INFO": "maxmemory_policy:noeviction",
            "symposia doctor": "it refuses writes",
            "symposia config": "SYMPOSIA_REDIS_URL",
        },
        codes={"symposia doctor": 4},
    ).follow("deploying-operations.md", "Redis is full")
    installation.node.client.config_set("maxmemory", "0")
    installation.answer(session)


def test_redis_is_lost(installation: Installation) -> None:
    session = installation.ask()
    installation.wait_until_archived(session)
    installation.node.client.flushall()

    def answer(watching: Running) -> None:
        watching.until("waiting for")
        installation.answer(session)

    Walk(
        installation.terminal,
        values={"3f2a91c4": session[:8]},
        awaited={"symposia list": session[:8]},
        after={"symposia watch": answer},
        elsewhere=("symposia watch",),
    ).follow("deploying-operations.md", "Redis is lost with its data")


def test_queue_is_lost(installation: Installation, redis_cli: dict[str, str]) -> None:
    installation.kill_worker()
    session = installation.submit("examples/pair.yaml")
    assert installation.node.client.exists(QUEUE)

    def check(_: str) -> None:
        assert not installation.node.client.exists(QUEUE)

    Walk(
        installation.terminal,
        environment=redis_cli,
        after={"redis-cli DEL": check},
        awaited={"symposia list": session[:8]},
    ).follow("deploying-operations.md", "The queue is lost")
    installation.start_worker()
    installation.complete(session)


def test_schedule_was_missed(tmp_path: Path) -> None:
    with installed(tmp_path, jobs=json.dumps({"standup": "examples/pair.yaml"})) as installation:
        added = installation.terminal.call(
            "schedule", "add", "nightly", "--cron", "0 3 * * *", "--job", "standup"
        )
        assert added.code == 0, added
        Walk(installation.terminal).follow("deploying-operations.md", "A schedule was missed")
        history = ("schedule", "history", "nightly")
        until(lambda: "completed" in installation.terminal.call(*history).out, what="the run of now")


def test_postgres_is_lost(installation: Installation, postgres: Postgres, database_url: str) -> None:
    installation.kill_worker()
    installation.terminal.settings["database_url"] = database_url
    installation.start_worker()
    walk = Walk(installation.terminal, environment=use_postgres(postgres.url))
    kept = installation.complete(installation.submit("examples/pair.yaml"))
    installation.wait_until_archived(kept)
    walk.run("mkdir backup && pg_dump --format custom --file backup/symposia.dump symposia")
    postgres.stop()
    meanwhile = installation.complete(installation.submit("examples/inputs.yaml", "--set", "topic=doors"))

    def start_empty() -> None:
        postgres.start()
        execute_on(postgres.url, "DROP DATABASE symposia WITH (FORCE)")

    def check_pending(out: str) -> None:
        counts = [it["counts"] for it in json.loads(out)["findings"] if "owed" in it.get("counts", {})]
        assert counts[0]["owed"] >= 1

    replace(walk, before={"createdb": start_empty}, after={"symposia doctor": check_pending}).follow(
        "deploying-operations.md", "PostgreSQL is lost"
    )
    installation.wait_until_archived(meanwhile)
    found = (
        installation.terminal.run("search", "doors", "--json").out
        + installation.terminal.run("search", "subtracts", "--json").out
    )
    assert kept in found
    assert meanwhile in found


def test_rolling_upgrade(installation: Installation) -> None:
    session = installation.ask()
    Walk(
        installation.terminal,
        instead={"systemctl stop": installation.kill_worker, "systemctl start": installation.start_worker},
    ).follow("deploying-operations.md", "Rolling upgrade")
    installation.answer(session)
