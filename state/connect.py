"""One way to make a Redis client, so that timeouts, retries and decoding are the same everywhere."""

from __future__ import annotations

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ..models.errors import RedisUnavailable

#: A blocking read must end well before the socket gives up.
SOCKET_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0


def connect(url: str, *, retries: int = 3) -> Redis:
    """A client for `url` that decodes responses. Nothing is sent before the first command.

    Every script is idempotent, so a command whose reply was lost may be sent again.
    """
    client: Redis = Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
        health_check_interval=30,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), retries),
        retry_on_error=[RedisConnectionError, RedisTimeoutError],
    )
    return client


def aconnect(url: str) -> AsyncRedis:
    """The same for asyncio: one client belongs to one event loop."""
    client: AsyncRedis = AsyncRedis.from_url(
        url,
        decode_responses=True,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
    )
    return client


def check_reachable(client: Redis, url: str) -> str:
    """The server's version. Raises RedisUnavailable, which names the URL without its password."""
    try:
        info = client.info("server")
    except (RedisError, OSError) as error:
        raise RedisUnavailable(url, hint=str(error)) from error
    return str(info.get("valkey_version") or info["redis_version"])
