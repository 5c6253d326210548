"""A client without the packages of its archive looks for sessions in Redis, and names what it did not search."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.errors import MissingPackage, RedisUnavailable, SessionNotFound

UNKNOWN = "3f2a91c4-26a0-4a51-9b0a-2d4b0f7e1c55"
HINT = (
    r"not found \(unknown id or expired\); not searched: the archive \(SYMPOSIA_ARCHIVE=false: none\) needs the package "
    r"sqlalchemy: pip install 'symposia\[archive\]'"
)


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "symposia.archive.archive", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)


@pytest.fixture
def client(lacking: None, redis_url: str, tmp_path: Path) -> Iterator[Client]:
    with Client(load_settings(redis_url=redis_url, data_dir=tmp_path, archive=True)) as client:
        yield client


@pytest.mark.parametrize("session_id", [UNKNOWN, UNKNOWN[:8]])
def test_unknown_session_is_not_found(client: Client, session_id: str) -> None:
    with pytest.raises(SessionNotFound, match=HINT):
        client.get_job(session_id)


def test_session_in_redis_is_found(client: Client) -> None:
    collab = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": [{"participant_id": "a"}]}
    job = client.submit(collab, agents={"a": "echo"})
    assert client.get_job(job.id[:8]).id == job.id


def test_calls_of_the_archive_name_the_extra(client: Client) -> None:
    with pytest.raises(MissingPackage, match=r"symposia\[archive\]"):
        client.archived()


@pytest.mark.usefixtures("lacking")
def test_unreachable_redis_is_reported(tmp_path: Path) -> None:
    settings = load_settings(redis_url="redis://127.0.0.1:1/0", data_dir=tmp_path, archive=True)
    with Client(settings) as client, pytest.raises(RedisUnavailable):
        client.get_job(UNKNOWN)
