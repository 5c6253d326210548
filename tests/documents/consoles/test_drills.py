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
def redis_cli(place: Installation, tmp_path: Path) -> dict[str, str]:
    return use_redis_cli(tmp_path / "bin", place.url)


def test_worker_is_killed(place: Installation) -> None:
    sessions: list[str] = []
    Walk(
        place.terminal,
        after={"symposia submit": lambda out: sessions.append(out.strip())},
        instead={"systemctl kill": place.restart_worker},
        awaited={"symposia doctor": "workers", "symposia list": "A notice"},
    ).follow("deploying-operations.md", "Disaster drills", "A worker is killed")
    place.answer(sessions[0])


def test_redis_restarts(place: Installation) -> None:
    def restart() -> None:
        place.node.kill()
        place.start_redis()

    session = place.ask()
    Walk(
        place.terminal,
        instead={"systemctl restart valkey": restart},
        awaited={"symposia doctor": "workers"},
    ).follow("deploying-operations.md", "Redis restarts")
    place.answer(session)


def test_redis_is_full(place: Installation, redis_cli: dict[str, str]) -> None:
    session = place.ask()
    place.node.client.config_set("maxmemory-policy", "noeviction")
    place.node.client.config_set("maxmemory", "1mb")
    refused = place.terminal.call("submit", "session.yaml")
    assert (refused.code, "memory" in refused.err) == (4, True), refused
    Walk(
        place.terminal,
        environment=redis_cli,
        awaited={
            "redis-cli INFO": "maxmemory_policy:noeviction",
            "symposia doctor": "it refuses writes",
            "symposia config": "SYMPOSIA_REDIS_URL",
        },
        codes={"symposia doctor": 4},
    ).follow("deploying-operations.md", "Redis is full")
    place.node.client.config_set("maxmemory", "0")
    place.answer(session)


def test_redis_is_lost(place: Installation) -> None:
    session = place.ask()
    place.wait_until_archived(session)
    place.node.client.flushall()

    def answer(watching: Running) -> None:
        watching.until("waiting for")
        place.answer(session)

    Walk(
        place.terminal,
        values={"3f2a91c4": session[:8]},
        awaited={"symposia list": session[:8]},
        after={"symposia watch": answer},
        elsewhere=("symposia watch",),
    ).follow("deploying-operations.md", "Redis is lost with its data")


def test_queue_is_lost(place: Installation, redis_cli: dict[str, str]) -> None:
    place.kill_worker()
    session = place.submit("examples/pair.yaml")
    assert place.node.client.exists(QUEUE)

    def check(_: str) -> None:
        assert not place.node.client.exists(QUEUE)

    Walk(
        place.terminal,
        environment=redis_cli,
        after={"redis-cli DEL": check},
        awaited={"symposia list": session[:8]},
    ).follow("deploying-operations.md", "The queue is lost")
    place.start_worker()
    place.complete(session)


def test_schedule_was_missed(tmp_path: Path) -> None:
    with installed(tmp_path, jobs=json.dumps({"standup": "examples/pair.yaml"})) as place:
        added = place.terminal.call("schedule", "add", "nightly", "--cron", "0 3 * * *", "--job", "standup")
        assert added.code == 0, added
        Walk(place.terminal).follow("deploying-operations.md", "A schedule was missed")
        history = ("schedule", "history", "nightly")
        until(lambda: "completed" in place.terminal.call(*history).out, what="the run of now")


def test_postgres_is_lost(place: Installation, postgres: Postgres, database_url: str) -> None:
    place.kill_worker()
    place.terminal.settings["database_url"] = database_url
    place.start_worker()
    walk = Walk(place.terminal, environment=use_postgres(postgres.url))
    kept = place.complete(place.submit("examples/pair.yaml"))
    place.wait_until_archived(kept)
    walk.run("mkdir backup && pg_dump --format custom --file backup/symposia.dump symposia")
    postgres.stop()
    meanwhile = place.complete(place.submit("examples/inputs.yaml", "--set", "topic=doors"))

    def start_empty() -> None:
        postgres.start()
        execute_on(postgres.url, "DROP DATABASE symposia WITH (FORCE)")

    def check_pending(out: str) -> None:
        counts = [it["counts"] for it in json.loads(out)["findings"] if "owed" in it.get("counts", {})]
        assert counts[0]["owed"] >= 1

    replace(walk, before={"createdb": start_empty}, after={"symposia doctor": check_pending}).follow(
        "deploying-operations.md", "PostgreSQL is lost"
    )
    place.wait_until_archived(meanwhile)
    found = (
        place.terminal.run("search", "doors", "--json").out
        + place.terminal.run("search", "subtracts", "--json").out
    )
    assert kept in found
    assert meanwhile in found


def test_rolling_upgrade(place: Installation) -> None:
    session = place.ask()
    Walk(
        place.terminal,
        instead={"systemctl stop": place.kill_worker, "systemctl start": place.start_worker},
    ).follow("deploying-operations.md", "Rolling upgrade")
    place.answer(session)
