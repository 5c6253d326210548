"""A real server, a session on it, and what must be true of every session once a test is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from checks.audited import client
from servers.redis_nodes import Cluster, Watched, own_cluster, own_sentinels
from sessions.table import Table
from symposia.state.sessions.index import SessionIndex

__all__ = ["client"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Redis Cluster of three masters that keep running."""
    with own_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A master with a password and Sentinels with another one, without a failover."""
    folder = tmp_path_factory.mktemp("sentinels")
    with own_sentinels(folder, password="hunter22", sentinel_password="hunter33") as watched:
        yield watched


@pytest.fixture
def table(client: Redis) -> Table:
    return Table(client)


@pytest.fixture
def index(client: Redis) -> SessionIndex:
    return SessionIndex(client)
