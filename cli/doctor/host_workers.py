"""The check of `symposia doctor --worker`."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from redis.exceptions import RedisError

from ...client.building.connection import redis_url_in_use
from ...config.settings import Settings
from ...models.errors import NoRedis, StateError
from ...state.presence import WorkerPresence
from ...state.redis.connect import connect
from .server_checks import CheckResult, Grade, check_server, unreachable_server


def check_host_workers(settings: Settings) -> Iterator[CheckResult]:
    """Check that a worker of this host runs: it has announced itself to Redis recently.

    Args:
        settings: Settings of the worker.
    """
    host = socket.gethostname()
    try:
        url = redis_url_in_use(settings)
    except NoRedis as error:
        yield unreachable_server("", error)
        return
    with connect(url, retries=0) as client:
        try:
            check_server(client, url)
            alive = [it for it in WorkerPresence(client).list_alive() if it.name.endswith(f"@{host}")]
        except (StateError, RedisError, OSError) as error:
            yield unreachable_server(url, error)
            return
    if not alive:
        text = f"no worker of the host {host} has announced itself within 30 s"
        yield CheckResult("workers", Grade.BAD, text, "read the log of the worker, and restart it")
    for it in alive:
        text = f"{it.name} announced itself {it.age_ms / 1000:.1f} s ago"
        yield CheckResult("workers", Grade.GOOD, text)
