"""Checks of the Redis server with the sessions, for `symposia doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis

from ...models.errors import UnsuitableRedis
from ...models.text.redact import without_password
from ...state.redis.cluster import info_by_server
from ...state.redis.connect import check_reachable
from ...state.redis.outages import ADVICE
from .findings import CheckResult, Grade


def check_server(client: Redis, url: str, *, is_configured: bool) -> CheckResult:
    """Ask the server for its version.

    Args:
        client: Of the server.
        url: Its URL; the password is not shown.
        is_configured: Whether the URL comes from the settings.

    Raises:
        RedisUnavailable: the server does not answer, or is of another kind than the URL says.
    """
    found = f"{without_password(url)} answers, version {check_reachable(client, url)}"
    return CheckResult(
        "Redis", Grade.GOOD, found if is_configured else f"{found}; this is the default, no URL is configured"
    )


def unreachable_server(url: str, error: Exception) -> CheckResult:
    """Return the finding for a server that has never answered."""
    if isinstance(error, UnsuitableRedis):
        return CheckResult("Redis", Grade.BAD, f"{error.url} is {error.hint}", "change SYMPOSIA_REDIS_URL")
    text = f"{without_password(url)} does not answer: {error.__cause__ or error}"
    return CheckResult("Redis", Grade.BAD, text, ADVICE)


def failed_server(url: str, error: Exception) -> CheckResult:
    """Return the finding for a server that answered and then failed."""
    text = f"{without_password(url)} answered, but a later command failed: {error}"
    return CheckResult("Redis", Grade.BAD, text, "check its log and the permissions of this Redis user")


def check_durability(client: Redis) -> Iterator[CheckResult]:
    """Check for settings with which a server loses data. Managed servers may hide them."""
    memory = info_by_server(client, "memory")
    for node, told in info_by_server(client, "persistence").items():
        named = f"{node} " if node else ""
        if not told.get("aof_enabled"):
            text = f"{named}writes no append-only file: sessions are lost when the server stops"
            yield CheckResult(
                "Redis",
                Grade.WARNING,
                text,
                "run CONFIG SET appendonly yes, and set it in the configuration file",
            )
        policy = memory.get(node, {}).get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            text = f"{named}evicts keys when its memory is full (maxmemory-policy {policy})"
            advice = "run CONFIG SET maxmemory-policy noeviction, and set it in the configuration file"
            yield CheckResult("Redis", Grade.WARNING, text, advice)
