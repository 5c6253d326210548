"""Backup and restore of docs/deploying-operations.md: of Redis, PostgreSQL and SQLite."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from documents.installation import Installation
from documents.tools import use_postgres, use_redis_cli
from documents.walk import Walk
from programs import find_program
from servers.postgres import Postgres, execute_on

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def walk(installation: Installation, postgres: Postgres, tmp_path: Path) -> Walk:
    """Systemd's services are the worker of the installation."""
    find_program("sqlite3")
    return Walk(
        installation.terminal,
        # As another user than root, the command needs `--owner`.
        values={"/var/lib/symposia/": f"{tmp_path / 'data'}/", "--owner symposia ": ""},
        environment={**use_redis_cli(tmp_path / "bin", installation.url), **use_postgres(postgres.url)},
        instead={"systemctl stop": installation.kill_worker, "systemctl start": installation.start_worker},
    )


def archive_one(installation: Installation, *words: str) -> str:
    """The id of a session that has completed and is archived."""
    session = installation.complete(installation.submit(*words))
    installation.wait_until_archived(session)
    return session


def test_backups_are_restored(
    installation: Installation, postgres: Postgres, database_url: str, walk: Walk, tmp_path: Path
) -> None:
    def search(word: str) -> str:
        return installation.terminal.run("search", word, "--json").out

    def lose_redis() -> None:
        installation.node.kill()
        shutil.rmtree(tmp_path / "redis")
        (tmp_path / "redis").mkdir()
        shutil.copy(installation.folder / "backup/symposia.rdb", tmp_path / "redis/dump.rdb")
        installation.start_redis(appendonly="no")

    def lose_postgres() -> None:
        execute_on(postgres.url, "DROP DATABASE symposia WITH (FORCE)")

    in_sqlite = archive_one(installation, "examples/pair.yaml")
    installation.kill_worker()
    installation.terminal.settings["database_url"] = database_url
    installation.start_worker()
    in_postgres = archive_one(installation, "examples/inputs.yaml", "--set", "topic=doors")
    waiting = installation.ask()
    installation.wait_until_archived(waiting)

    replace(walk, instead={}).follow("deploying-operations.md", "Backup and restore")
    replace(
        walk, before={"redis-cli CONFIG": lose_redis}, awaited={"redis-cli INFO": "aof_enabled:1"}
    ).follow("deploying-operations.md", "Redis")
    installation.answer(waiting)

    replace(walk, instead={}, before={"createdb": lose_postgres}).follow(
        "deploying-operations.md", "PostgreSQL"
    )
    assert in_postgres in search("doors")

    del installation.terminal.settings["database_url"]
    replace(walk, before={"rm": (tmp_path / "data/archive.sqlite3").unlink}).follow(
        "deploying-operations.md", "SQLite"
    )
    assert in_sqlite in search("subtracts")
