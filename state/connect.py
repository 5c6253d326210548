"""One way to make a Redis client, so that timeouts, retries, decoding and errors are the same everywhere."""

from __future__ import annotations

from typing import Any, cast

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import ExponentialBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ..models.errors import RedisUnavailable

#: A blocking read must end well before the socket gives up.
SOCKET_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0

_ADVICE = "start one with `symposia up`, or set SYMPOSIA_REDIS_URL"
_LOST = (RedisConnectionError, RedisTimeoutError)


class _Retry(Retry):
    """Tries again what may pass; a wrong password does not."""

    def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        """As in Retry."""
        return super().call_with_retry(do, fail, is_retryable or _may_pass, with_failure_count)


def _may_pass(error: Exception) -> bool:
    return not isinstance(error, AuthenticationError)


class _Client(Redis):
    """A client whose lost connections are told as RedisUnavailable."""

    url: str

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _LOST as error:
            raise RedisUnavailable(self.url, hint=f"{error}; {_ADVICE}") from error


class _AsyncClient(AsyncRedis):
    """The same for asyncio."""

    url: str

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        try:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _LOST as error:
            raise RedisUnavailable(self.url, hint=f"{error}; {_ADVICE}") from error


def connect(url: str, *, retries: int = 3, timeout_s: float = SOCKET_TIMEOUT_S) -> Redis:
    """A client for `url` that decodes responses. Nothing is sent before the first command.

    Every script is idempotent, so a command whose reply was lost may be sent again. Commands raise
    RedisUnavailable when the server does not answer within `timeout_s` seconds.
    """
    client = _Client.from_url(
        url,
        decode_responses=True,
        socket_timeout=timeout_s,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
        health_check_interval=30,
        retry=_Retry(ExponentialBackoff(cap=1.0, base=0.05), retries, supported_errors=_LOST),
    )
    cast("_Client", client).url = url
    return client


def aconnect(url: str) -> AsyncRedis:
    """The same for asyncio: one client belongs to one event loop."""
    client = _AsyncClient.from_url(
        url,
        decode_responses=True,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
    )
    cast("_AsyncClient", client).url = url
    return client


def check_reachable(client: Redis, url: str) -> str:
    """The server's version. Raises RedisUnavailable, which names the URL without its password."""
    try:
        info = client.info("server")
    except RedisError as error:
        raise RedisUnavailable(url, hint=str(error)) from error
    return str(info.get("valkey_version") or info["redis_version"])
