"""Creation of Redis clients, with the same timeouts, retries, decoding and errors everywhere."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

from redis import ConnectionPool, Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.client import Pipeline as AsyncPipeline
from redis.client import Pipeline
from redis.exceptions import MovedError, RedisError, ResponseError

from ...models.errors import ClientClosed, RedisUnavailable, SymposiaError, UnsuitableRedis
from ...models.text.redis_address import RedisAddress, RedisKind, split_key_prefix
from ...patches.redis_connections import PACKER, async_master_client, master_client
from .cluster import AsyncClusterClient, ClusterClient
from .compat import COMMAND_NAME, RETRIED, RetriedAsyncPipeline, RetriedPipeline, clients_of_sentinels
from .connection_errors import LOST_CONNECTION_ERRORS, AsyncConnectionRetry, ConnectionRetry, convert_error
from .key_prefix import (
    AsyncPrefixedCommands,
    AsyncPrefixedPipeline,
    PrefixedCommands,
    PrefixedPipeline,
    add_prefix,
)

#: A blocking read must end well before this socket timeout.
SOCKET_TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 2.0
#: Number of retries of a command whose connection was lost.
RETRIES = 3

#: Connections of a client; each thread that runs turns keeps one. The default of redis-py is 100.
MAX_CONNECTIONS = 10_000

#: Exceptions of a single-server client if the server is lost or belongs to a cluster.
_USELESS = (*LOST_CONNECTION_ERRORS, MovedError)


class _Client(PrefixedCommands, Redis):
    """A client that raises RedisUnavailable for lost connections and keeps one connection per thread for scripts.

    Taking a connection from the pool costs as much as the call itself. After `close` each command raises
    ClientClosed; redis-py would connect again.
    """

    url: str
    _is_closed = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lanes = threading.local()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter exit, a daemon thread that was ended may hold the pool's lock forever.
        if not is_finalizing():
            super().__del__()  # type: ignore[no-untyped-call]

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        self._check_open()
        try:
            return super().execute_command(*args, **options)
        except _USELESS as error:
            raise self._convert_error(error) from error

    def evalsha(self, sha: str, numkeys: int, *keys_and_args: Any) -> Any:
        """As in Redis."""
        self._check_open()
        try:
            command: Sequence[Any] = ("EVALSHA", sha, numkeys, *keys_and_args)
            return self._lane().ask(add_prefix(self.key_prefix, command) if self.key_prefix else command)
        except _USELESS as error:
            raise self._convert_error(error) from error

    def send_in_order(self, stages: Sequence[Sequence[Sequence[Any]]]) -> list[list[Any]]:
        """Send commands so that those of a stage run after those of the stage before it: here in one round trip.

        Return the answers of each stage. An error of the server is an answer. Answers are not converted, and keys in
        them have their prefix. After a lost connection all are sent again.
        """
        self._check_open()
        commands = [command for stage in stages for command in stage]
        if self.key_prefix:
            commands = [add_prefix(self.key_prefix, command) for command in commands]
        try:
            answers = iter(self._lane().ask_all(commands))
        except _USELESS as error:
            raise self._convert_error(error) from error
        return [[next(answers) for _ in stage] for stage in stages]

    def _lane(self) -> _ThreadConnection:
        lane: _ThreadConnection | None = getattr(self._lanes, "lane", None)
        if lane is None or lane.pid != os.getpid():
            lane = self._lanes.lane = _ThreadConnection(self.connection_pool)
        return lane

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """As in Redis."""
        self._check_open()
        made = _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        made.url, made.key_prefix = self.url, self.key_prefix
        return made

    def close(self) -> None:
        """As in Redis, with the connections to Sentinels. Commands in other threads raise ClientClosed."""
        self._is_closed = True
        for connection in tuple(self.connection_pool._in_use_connections):  # noqa: SLF001 - or they reconnect
            connection.retry.update_retries(0)
        super().close()
        for sentinel in clients_of_sentinels(self.connection_pool):
            sentinel.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed

    def _convert_error(self, error: BaseException) -> SymposiaError:
        return ClientClosed() if self._is_closed else convert_error(error, self.url)


class _LaterClient(_Client):
    """A client whose server may not run yet: until a command has found it, each looks for it."""

    find: Callable[[], Redis] | None = None

    def _check_open(self) -> None:
        super()._check_open()
        if self.find is not None:
            client = self.find()
            client.auto_close_connection_pool = False  # the pool belongs to this client now
            ready = cast("_Client", client)
            self.connection_pool, self.url, self.key_prefix = (
                client.connection_pool,
                ready.url,
                ready.key_prefix,
            )
            self.find = None


class _Pipeline(RetriedPipeline, PrefixedPipeline, Pipeline):
    """A pipeline that raises the same errors."""

    url: str

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """As in Pipeline."""
        try:
            answers = super().execute(raise_on_error)
        except _USELESS as error:
            raise convert_error(error, self.url) from error
        for answer in answers:
            if isinstance(answer, MovedError):
                raise convert_error(answer, self.url)
        return answers


class _ThreadConnection:
    """One thread's connection, returned to the pool when the thread ends."""

    def __init__(self, pool: ConnectionPool) -> None:
        #: A connection is not shared with a child process.
        self.pid = os.getpid()
        self._pool = pool
        self._connection: Any = pool.get_connection(*COMMAND_NAME)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing():  # see `_Client.__del__`
            return
        # After a fork the child runs this for threads of the parent. The connections belong to the parent,
        # and one of those threads may hold the pool's lock.
        if hasattr(self, "_connection") and self.pid == os.getpid():
            self._pool.release(self._connection)

    def ask(self, command: Sequence[Any]) -> Any:
        """Return the server's answer; after a lost connection the command is sent again, as by the pool."""
        (answer,) = self._exchange(self._connection.pack_command(*command), answers=1)
        if isinstance(answer, ResponseError):
            try:
                raise answer
            finally:
                del answer  # or the error and this frame would keep each other
        return answer

    def ask_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the server's answers, errors among them, of commands in one round trip.

        Raises:
            MovedError: The server belongs to a cluster.
        """
        answers = self._exchange(self._connection.pack_commands(commands), answers=len(commands))
        for moved in (answer for answer in answers if isinstance(answer, MovedError)):
            raise moved
        return answers

    def _exchange(self, packed: Any, *, answers: int) -> list[Any]:
        """Send packed commands, and return the server's answers; ResponseError is an answer."""
        connection = self._connection

        def exchange() -> list[Any]:
            try:
                connection.send_packed_command(packed)
                return [_answer(connection) for _ in range(answers)]
            except BaseException:
                # Also after Ctrl-C between sending and reading: otherwise the next command would read this
                # answer.
                connection.disconnect()
                raise

        received: list[Any] = connection.retry.call_with_retry(exchange, lambda _error: None)
        return received


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error.with_traceback(None)  # which would keep the frames that keep the error


class _AsyncClient(AsyncPrefixedCommands, AsyncRedis):  # type: ignore[misc]  # of redis-py
    """The same for asyncio."""

    url: str

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis."""
        try:
            return await super().execute_command(*args, **options)
        except _USELESS as error:
            raise convert_error(error, self.url) from error

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> AsyncPipeline:
        """As in Redis."""
        made = _AsyncPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        made.key_prefix = self.key_prefix
        return made

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """As in Redis, with the connections to Sentinels."""
        await super().aclose(close_connection_pool)
        for sentinel in clients_of_sentinels(self.connection_pool):
            await sentinel.aclose()


class _AsyncPipeline(RetriedAsyncPipeline, AsyncPrefixedPipeline, AsyncPipeline):  # type: ignore[misc]  # of redis-py
    """A pipeline with the prefix of its client."""


def _options(timeout_s: float) -> dict[str, Any]:
    return {
        "decode_responses": True,
        "encoding_errors": "replace",  # undecodable bytes and unencodable text are replaced (`?`)
        "socket_timeout": timeout_s,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_keepalive": True,
        "max_connections": MAX_CONNECTIONS,
    }


def connect(url: str, *, retries: int = RETRIES, timeout_s: float = SOCKET_TIMEOUT_S) -> Redis:
    """Return a client for `url` that decodes responses. Nothing is sent before the first command.

    Every script is idempotent, so a command whose reply was lost may be sent again. Commands raise
    RedisUnavailable when the server does not answer within `timeout_s` seconds.

    Args:
        url: URL of a server, a cluster, or a Sentinel master; see `RedisAddress`.
        retries: Maximum number of times that a command is sent again.
        timeout_s: Seconds to wait for an answer.
    """
    address, options = RedisAddress.parse(url), _options(timeout_s)
    if address.kind is RedisKind.CLUSTER:
        # Both types have the methods that are used here.
        return cast("Redis", ClusterClient(address, url, retries=retries, options=options))
    options |= {
        "health_check_interval": 30,
        "command_packer": PACKER,
        "retry": ConnectionRetry(retries),
        "retry_on_error": RETRIED,
    }
    if address.kind is RedisKind.SENTINEL:
        client = master_client(address, _Client, options)
    else:
        client = cast("_Client", _Client.from_url(address.plain, **options))
    client.url, client.key_prefix = url, split_key_prefix(url)[1]
    return client


def connect_later(find: Callable[[], Redis]) -> Redis:
    """Return a client that takes over the connections of the one that `find` returns.

    Commands call `find` until it returns a client of a single server, and raise what it raises.
    """
    client = cast("_LaterClient", _LaterClient.from_url("redis://"))
    client.url, client.find = "", find
    return client


def aconnect(url: str) -> AsyncRedis:
    """Return a client like that of `connect`, for asyncio; one client belongs to one event loop."""
    address, options = RedisAddress.parse(url), _options(SOCKET_TIMEOUT_S)
    if address.kind is RedisKind.CLUSTER:
        return cast("AsyncRedis", AsyncClusterClient(address, url, retries=RETRIES, options=options))
    options |= {"retry": AsyncConnectionRetry(RETRIES), "retry_on_error": RETRIED}
    if address.kind is RedisKind.SENTINEL:
        client = async_master_client(address, _AsyncClient, options)
    else:
        client = cast("_AsyncClient", _AsyncClient.from_url(address.plain, **options))
    client.url, client.key_prefix = url, split_key_prefix(url)[1]
    return client


def check_reachable(client: Redis, url: str) -> str:
    """Return the server's version.

    Raises:
        RedisUnavailable: The server does not answer; the message contains the URL without its password.
        UnsuitableRedis: The server is of another kind than the URL.
    """
    try:
        info = client.info("server")
    except RedisError as error:
        raise RedisUnavailable(url, hint=str(error)) from error
    mode = info.get("redis_mode") or info.get("server_mode")
    if RedisAddress.parse(url).kind is RedisKind.SINGLE and mode in (RedisKind.CLUSTER, RedisKind.SENTINEL):
        raise UnsuitableRedis(url, found=RedisKind(mode))
    return str(info.get("valkey_version") or info["redis_version"])
