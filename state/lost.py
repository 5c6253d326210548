"""What a lost Redis is called, whichever client lost it, and how patiently it is asked again."""

from __future__ import annotations

from typing import Any

from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff
from redis.exceptions import AuthenticationError, ClusterError, MovedError, RedisClusterException
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ..models.errors import RedisUnavailable, UnsuitableRedis
from ..models.redis_address import RedisAddress, RedisKind

#: What a client of a server raises when it is lost; that of a cluster raises the others, too.
LOST = (RedisConnectionError, RedisTimeoutError)
CLUSTER_LOST = (*LOST, ClusterError, RedisClusterException)

#: What to do about a Redis that does not answer. Where one is configured, `symposia up` starts none.
ADVICE = "start one with `symposia up` (SYMPOSIA_REDIS_URL unset), or set SYMPOSIA_REDIS_URL to one that runs"
#: What servers say that are of another kind than the URL says.
_NO_CLUSTER, _NO_SENTINEL = "cluster support disabled", "unknown command"


class _TryingWhatMayPass:
    """Tries again what may pass; a wrong password does not."""

    def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        """As in Retry; for asyncio the answer is awaited."""
        return super().call_with_retry(do, fail, is_retryable or _may_pass, with_failure_count)  # type: ignore[misc]


class PatientRetry(_TryingWhatMayPass, Retry):
    """For a client. `lost`: errors after which it may be tried again."""

    def __init__(self, retries: int, *, lost: tuple[type[Exception], ...] = LOST) -> None:
        super().__init__(_pauses(), retries, supported_errors=lost)


class AsyncPatientRetry(_TryingWhatMayPass, AsyncRetry):
    """For a client of asyncio."""

    def __init__(self, retries: int) -> None:
        super().__init__(_pauses(), retries, supported_errors=LOST)


def _pauses() -> ExponentialBackoff:
    return ExponentialBackoff(cap=1.0, base=0.05)


def _may_pass(error: Exception) -> bool:
    return not isinstance(error, AuthenticationError)


def told(error: BaseException, url: str) -> RedisUnavailable:
    """An error of redis-py as ours: why the Redis at `url` is of no use."""
    cause = _root(error)
    kind = RedisAddress.of(url).kind
    if kind is RedisKind.SINGLE and isinstance(cause, MovedError):
        return UnsuitableRedis(url, found=RedisKind.CLUSTER)
    if kind is RedisKind.CLUSTER and _NO_CLUSTER in str(cause):
        return UnsuitableRedis(url, found=RedisKind.SINGLE)
    if kind is RedisKind.SENTINEL and _NO_SENTINEL in str(cause) and "sentinel" in str(cause).lower():
        return UnsuitableRedis(url, found=RedisKind.SINGLE)
    hint = str(cause).rstrip(".")
    return RedisUnavailable(url, hint=f"{hint}; {ADVICE}" if kind is RedisKind.SINGLE else hint)


def _root(error: BaseException) -> BaseException:
    """What redis-py's client of a cluster puts its own words around."""
    while isinstance(error, RedisClusterException) and (inner := error.__cause__ or error.__context__):
        error = inner
    return error
