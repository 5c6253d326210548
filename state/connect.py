"""One way to make a Redis client, so that timeouts, retries, decoding and errors are the same everywhere."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

from redis import ConnectionPool, Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff
from redis.client import Pipeline
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from ..models.errors import RedisUnavailable
from .packing import PACKER

#: A blocking read must end well before the socket gives up.
SOCKET_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0
#: How often a command is sent again whose connection was lost.
RETRIES = 3

#: What to do about a Redis that does not answer. Where one is configured, `symposia up` starts none.
ADVICE = "start one with `symposia up` (SYMPOSIA_REDIS_URL unset), or set SYMPOSIA_REDIS_URL to one that runs"
_LOST = (RedisConnectionError, RedisTimeoutError)


class _TryingWhatMayPass:
    """Tries again what may pass; a wrong password does not."""

    def call_with_retry(
        self, do: Any, fail: Any, is_retryable: Any = None, with_failure_count: bool = False
    ) -> Any:
        """As in Retry; for asyncio the answer is awaited."""
        return super().call_with_retry(do, fail, is_retryable or _may_pass, with_failure_count)  # type: ignore[misc]


class _Retry(_TryingWhatMayPass, Retry):
    """For the client."""


class _AsyncRetry(_TryingWhatMayPass, AsyncRetry):
    """For the client of asyncio."""


def _pauses() -> ExponentialBackoff:
    return ExponentialBackoff(cap=1.0, base=0.05)


def _may_pass(error: Exception) -> bool:
    return not isinstance(error, AuthenticationError)


class _Client(Redis):
    """A client whose lost connections are told as RedisUnavailable, and whose scripts run over a
    connection that stays with the thread: taking one out of the pool costs as much as the call itself.
    """

    url: str

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lanes = threading.local()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # When the interpreter ends, the pool's lock may be held for ever: by a daemon thread that has just been ended.
        if not is_finalizing():
            super().__del__()  # type: ignore[no-untyped-call]

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _LOST as error:
            raise RedisUnavailable(self.url, hint=_hint(error)) from error

    def evalsha(self, sha: str, numkeys: int, *keys_and_args: Any) -> Any:
        """As in Redis."""
        try:
            lane = getattr(self._lanes, "lane", None)
            if lane is None or lane.pid != os.getpid():
                lane = self._lanes.lane = _Lane(self.connection_pool)
            return lane.ask("EVALSHA", sha, numkeys, *keys_and_args)
        except _LOST as error:
            raise RedisUnavailable(self.url, hint=_hint(error)) from error


class _Lane:
    """One thread's connection, back in the pool when the thread ends."""

    def __init__(self, pool: ConnectionPool) -> None:
        #: A connection is not shared with a child process.
        self.pid = os.getpid()
        self._pool = pool
        self._connection: Any = pool.get_connection()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing():  # as for the client
            return
        # Of a fork's child, where this runs for the threads it has not: it has not their connections either,
        # and the pool's lock may be held by one of them.
        if hasattr(self, "_connection") and self.pid == os.getpid():
            self._pool.release(self._connection)

    def ask(self, *command: Any) -> Any:
        """The server's answer; a command whose connection was lost is sent again, as by the pool."""
        connection = self._connection
        packed = connection.pack_command(*command)

        def ask() -> Any:
            try:
                connection.send_packed_command(packed)
                return connection.read_response()
            except ResponseError:
                raise
            except BaseException:
                # Also Ctrl-C between the two: the next command would be given this one's answer.
                connection.disconnect()
                raise

        return connection.retry.call_with_retry(ask, lambda _error: None)


class _AsyncClient(AsyncRedis):
    """The same for asyncio."""

    url: str

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        try:
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except _LOST as error:
            raise RedisUnavailable(self.url, hint=_hint(error)) from error


def _hint(error: Exception) -> str:
    return f"{str(error).rstrip('.')}; {ADVICE}"


def connect(url: str, *, retries: int = RETRIES, timeout_s: float = SOCKET_TIMEOUT_S) -> Redis:
    """A client for `url` that decodes responses. Nothing is sent before the first command.

    Every script is idempotent, so a command whose reply was lost may be sent again. Commands raise
    RedisUnavailable when the server does not answer within `timeout_s` seconds.
    """
    client = _Client.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",  # bytes that are no text, text that is no bytes: a `?` stands there
        socket_timeout=timeout_s,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
        health_check_interval=30,
        command_packer=PACKER,
        retry=_Retry(_pauses(), retries, supported_errors=_LOST),
    )
    cast("_Client", client).url = url
    return client


def answers_of(client: Redis, pipeline: Pipeline) -> list[Any]:
    """What the commands of a pipeline are answered, errors among them. Raises RedisUnavailable."""
    try:
        return pipeline.execute(raise_on_error=False)
    except _LOST as error:
        url = getattr(client, "url", "an unnamed address")
        raise RedisUnavailable(url, hint=_hint(error)) from error


def aconnect(url: str) -> AsyncRedis:
    """The same for asyncio: one client belongs to one event loop."""
    client = _AsyncClient.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",  # bytes that are no text, text that is no bytes: a `?` stands there
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_keepalive=True,
        retry=_AsyncRetry(_pauses(), RETRIES, supported_errors=_LOST),
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
