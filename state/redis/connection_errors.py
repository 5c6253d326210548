"""Connection errors of all Redis clients, and their retries."""

from __future__ import annotations

import re
from typing import Any

from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff
from redis.exceptions import AuthenticationError, ClusterError, MovedError, RedisClusterException
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ...models.errors import RedisUnavailable, UnsuitableRedis
from ...models.text.redis_address import RedisAddress, RedisKind, source_of

#: Exceptions of a lost server: those of a single-server client, and the further ones of a cluster client.
LOST_CONNECTION_ERRORS = (RedisConnectionError, RedisTimeoutError)
LOST_CLUSTER_ERRORS = (*LOST_CONNECTION_ERRORS, ClusterError, RedisClusterException)

#: Error messages of servers of another kind than the URL.
_NO_CLUSTER = re.compile("cluster support disabled|Cluster mode is not enabled")  # the latter: redis-py 5
_NO_SENTINEL = "unknown command"


class _RetryTransientErrors:
    """Retries of transient errors; a wrong password is not retried."""

    def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        """As in Retry; for asyncio the answer is awaited."""

        def check(error: Exception, *failures: int) -> Any:
            # redis-py 5 has no argument `is_retryable`.
            if isinstance(error, AuthenticationError) or (is_retryable and not is_retryable(error)):
                raise error
            return fail(error, *failures)

        count = {"with_failure_count": True} if with_failure_count else {}
        return super().call_with_retry(do, check, **count)  # type: ignore[misc]

    def update_retries(self, value: int) -> None:
        """As in Retry, which has it since redis-py 6."""
        self._retries = value


class ConnectionRetry(_RetryTransientErrors, Retry):
    """Retries of a client. `lost`: errors that are retried."""

    def __init__(self, retries: int, *, lost: tuple[type[Exception], ...] = LOST_CONNECTION_ERRORS) -> None:
        super().__init__(_pauses(), retries, supported_errors=lost)


class AsyncConnectionRetry(_RetryTransientErrors, AsyncRetry):
    """Retries of an asyncio client."""

    def __init__(self, retries: int) -> None:
        super().__init__(_pauses(), retries, supported_errors=LOST_CONNECTION_ERRORS)


def _pauses() -> ExponentialBackoff:
    return ExponentialBackoff(cap=1.0, base=0.05)


def convert_error(error: BaseException, url: str) -> RedisUnavailable:
    """Convert an error of redis-py to the reason why the Redis at `url` cannot be used."""
    cause = _root(error)
    kind = RedisAddress.parse(url).kind
    if kind is RedisKind.SINGLE and isinstance(cause, MovedError):
        return UnsuitableRedis(url, found=RedisKind.CLUSTER)
    if kind is RedisKind.CLUSTER and _NO_CLUSTER.search(str(cause)):
        return UnsuitableRedis(url, found=RedisKind.SINGLE)
    if kind is RedisKind.SENTINEL and _NO_SENTINEL in str(cause) and "sentinel" in str(cause).lower():
        return UnsuitableRedis(url, found=RedisKind.SINGLE)
    hint = str(cause).rstrip(".")
    return RedisUnavailable(url, hint=f"{hint}; {source_of(url).cure}")


def _root(error: BaseException) -> BaseException:
    """Return the original error that redis-py's cluster client wrapped."""
    while isinstance(error, RedisClusterException) and (inner := error.__cause__ or error.__context__):
        error = inner
    return error
