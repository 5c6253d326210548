"""What the pages take for granted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.installation import Installation, installed
from servers.postgres import MISSING, Postgres, execute_on, own_postgres, programs


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation with a worker."""
    with installed(tmp_path) as installation:
        yield installation


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL with the user and the database of the pages."""
    if (found := programs()) is None:
        pytest.skip(MISSING)
    with own_postgres(found) as server:
        execute_on(server.url, "CREATE ROLE symposia LOGIN")
        execute_on(server.url, "CREATE DATABASE symposia OWNER symposia")
        yield server


@pytest.fixture
def database_url(postgres: Postgres) -> str:
    """The URL of that database, for Symposia."""
    return postgres.url.replace("tester@", "symposia@").removesuffix("postgres") + "symposia"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation that the tests of a module share."""
    folder = tmp_path_factory.mktemp("shared")
    jobs = json.dumps({"standup": str(folder / "project/examples/pair.yaml")})
    limits = {"tenant_daily_tokens": "100000", "tenant_daily_usd": "5"}
    with installed(
        folder, jobs=jobs, review_roots=json.dumps({"shop": str(folder)}), **limits
    ) as installation:
        yield installation
