"""The Redis with the sessions: part of `symposia doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis

from ..models.errors import UnsuitableRedis
from ..models.shown import without_password
from ..state.cluster import told_by_each
from ..state.connect import check_reachable
from ..state.lost import ADVICE
from .findings import Finding, Grade


def check_server(client: Redis, url: str, *, is_configured: bool) -> Finding:
    """Ask for the version. Raises RedisUnavailable: it does not answer, or is of another kind than the URL says."""
    found = f"{without_password(url)} answers, version {check_reachable(client, url)}"
    return Finding(
        "Redis", Grade.GOOD, found if is_configured else f"{found}; none is configured, this one is usual"
    )


def no_server(url: str, error: Exception) -> Finding:
    """Why the server is of no use, before it has answered anything."""
    if isinstance(error, UnsuitableRedis):
        return Finding("Redis", Grade.BAD, f"{error.url} is {error.hint}", "change SYMPOSIA_REDIS_URL")
    text = f"{without_password(url)} does not answer: {error.__cause__ or error}"
    return Finding("Redis", Grade.BAD, text, ADVICE)


def failed_server(url: str, error: Exception) -> Finding:
    """Why the server is of no use, although it has answered."""
    text = f"{without_password(url)} failed at a later command: {error}"
    return Finding("Redis", Grade.BAD, text, "look into its log, and at the rights of this user")


def check_durability(client: Redis) -> Iterator[Finding]:
    """Look for settings with which a server forgets. Managed servers may not tell."""
    memory = told_by_each(client, "memory")
    for node, told in told_by_each(client, "persistence").items():
        named = f"{node} " if node else ""
        if not told.get("aof_enabled"):
            text = f"{named}keeps no append-only file: sessions are lost when it ends"
            yield Finding("Redis", Grade.WARNING, text, "CONFIG SET appendonly yes, and in its configuration")
        policy = memory.get(node, {}).get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            text = f"{named}evicts keys when its memory is full (maxmemory-policy {policy})"
            advice = "CONFIG SET maxmemory-policy noeviction, and in its configuration"
            yield Finding("Redis", Grade.WARNING, text, advice)
