"""Connections of redis-py: to the master that Sentinels know, to nodes of a cluster, and commands packed by
hiredis.

Sentinel: clients ask for the master's address whenever they open a connection. If a master is lost or becomes
a replica, its connections fail, and the next ones go to the new master. Upstream, with redis-py 8.1:
redis/redis-py#3874 (a lost connection reconnects to the former master) and redis/redis-py#4292 (an
interrupted read leaves its answer to the next command). Remove the two methods of `MasterConnection` when
`test_redis_py_reconnects_to_the_former_master` and `test_redis_py_keeps_a_connection_with_an_answer`
fail. The error texts stay: redis-py's list its clients.

Cluster (`InterruptiblePool`): if an exception such as KeyboardInterrupt arrives between a command and its
answer, the cluster client of redis-py 8.1 returns the connection to its pool with the answer unread, and the
next command gets that answer. Upstream: no issue found. Remove it when
`test_redis_py_mixes_up_answers_after_an_interrupt` (`tests/state/redis/test_interrupted.py`) fails.

Packing (`PACKER`): hiredis 3.5.0 asks Python for the text of a number and does not check the result. Python
runs signal handlers there: if a handler raises, as for Ctrl-C, the process ends in a segmentation fault. So
hiredis gets texts only. Upstream: no issue found. Remove it when
`test_hiredis_crashes_if_a_number_has_no_text` fails and `tests/state/redis/test_interrupted.py` passes without it.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from redis import ConnectionPool, Redis, sentinel
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import sentinel as asyncio_sentinel
from redis.connection import HiredisRespSerializer, parse_url
from redis.exceptions import AuthenticationError, DataError, RedisError, ResponseError
from redis.utils import HIREDIS_AVAILABLE

from ..models.text.redis_address import RedisAddress

if HIREDIS_AVAILABLE:
    import hiredis


class InterruptiblePool(ConnectionPool):
    """redis-py's pool. An interrupted connection is closed before it is returned."""

    def release(self, connection: Any) -> None:
        """As in ConnectionPool."""
        interrupt = sys.exc_info()[1]
        if interrupt is not None and not isinstance(interrupt, Exception):
            connection.disconnect()
        super().release(connection)


class _WithoutNumbers(HiredisRespSerializer):
    def pack(self, *command: Any) -> list[bytes]:
        """Return the packed command.

        Raises:
            redis.DataError: A value that is not text, bytes or a number.
        """
        texts: list[Any] = [repr(value) if type(value) in (int, float) else value for value in command]
        if texts[0] == "EVALSHA":  # several in each turn; redis-py would look at each argument once more
            try:
                return [hiredis.pack_command(tuple(texts))]
            except TypeError as error:
                raise DataError(str(error)) from error
        return super().pack(*texts)  # type: ignore[no-any-return]


#: `command_packer` of redis-py's connections. None: without hiredis, redis-py's own.
PACKER = _WithoutNumbers() if HIREDIS_AVAILABLE else None


#: Timeout of a Sentinel in seconds; then the next one is asked.
_TIMEOUT_S = 2.0

R = TypeVar("R", bound=Redis)
A = TypeVar("A", bound=AsyncRedis)


class MasterConnection(sentinel.SentinelManagedConnection):
    """redis-py's connection without two of its defects."""

    def send_packed_command(self, command: Any, check_health: bool = True) -> Any:
        """As in Connection. A lost connection reconnects to the current master."""
        if self._sock is None:  # `is_connected` of redis-py 5.3 and later
            self.connect()  # type: ignore[no-untyped-call]
        return super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    def read_response(self, *args: Any, **options: Any) -> Any:
        """As in Connection. An interrupted connection is closed: the next command would get this answer."""
        return super().read_response(*args, **{"disconnect_on_error": True, **options})


class MasterTlsConnection(MasterConnection, sentinel.SentinelManagedSSLConnection):
    """`MasterConnection` over TLS."""


class _AsyncConnection(asyncio_sentinel.SentinelManagedConnection):
    async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        if not self.is_connected:
            await self.connect()  # type: ignore[no-untyped-call]
        await super().send_packed_command(command, check_health)


class _AsyncTlsConnection(_AsyncConnection, asyncio_sentinel.SentinelManagedSSLConnection):
    pass


class _Sentinels(sentinel.Sentinel):
    def discover_master(self, service_name: str) -> Any:
        try:
            return super().discover_master(service_name)  # type: ignore[no-untyped-call]
        except (sentinel.MasterNotFoundError, ResponseError) as error:
            try:
                self.sentinels[0].ping()
            except RedisError as unreachable:
                raise sentinel.MasterNotFoundError(_error_text(service_name, unreachable)) from error
            raise sentinel.MasterNotFoundError(_error_text(service_name, error)) from error


class _AsyncSentinels(asyncio_sentinel.Sentinel):
    async def discover_master(self, service_name: str) -> Any:
        try:
            return await super().discover_master(service_name)
        except (asyncio_sentinel.MasterNotFoundError, ResponseError) as error:
            try:
                await self.sentinels[0].ping()
            except RedisError as unreachable:
                raise asyncio_sentinel.MasterNotFoundError(_error_text(service_name, unreachable)) from error
            raise asyncio_sentinel.MasterNotFoundError(_error_text(service_name, error)) from error


def _error_text(master: str, error: Exception) -> str:
    """Return the text of an error. redis-py's text lists its clients with all their options."""
    text = f"no Sentinel knows an available master {master!r}"
    if isinstance(error, AuthenticationError):
        return f"{text}: a Sentinel rejected the credentials (?sentinel_username=, ?sentinel_password=)"
    is_list = isinstance(error, sentinel.MasterNotFoundError | asyncio_sentinel.MasterNotFoundError)
    return text if is_list else f"{text}: {error}"


def master_client(address: RedisAddress, client: type[R], options: dict[str, Any]) -> R:
    """Return a client of the master; `options` are those of its connections."""
    sentinels: Any = _Sentinels(address.nodes, sentinel_kwargs=_sentinel_options(address))  # type: ignore[no-untyped-call]
    kind = MasterTlsConnection if address.is_tls else MasterConnection
    made: R = sentinels.master_for(
        address.master, client, connection_class=kind, **{**options, **_connection_options(address)}
    )
    return made


def async_master_client(address: RedisAddress, client: type[A], options: dict[str, Any]) -> A:
    """Return a client of the master for asyncio, as `master_client`."""
    sentinels: Any = _AsyncSentinels(address.nodes, sentinel_kwargs=_sentinel_options(address))  # type: ignore[no-untyped-call]
    kind = _AsyncTlsConnection if address.is_tls else _AsyncConnection
    made: A = sentinels.master_for(
        address.master, client, connection_class=kind, **{**options, **_connection_options(address)}
    )
    return made


def _sentinel_options(address: RedisAddress) -> dict[str, Any]:
    """Return the connection options of Sentinels, with their own credentials, by default none."""
    options: dict[str, Any] = {
        **address.sentinel,
        "socket_timeout": _TIMEOUT_S,
        "socket_connect_timeout": _TIMEOUT_S,
        "retry": None,  # ask the next Sentinel instead
    }
    if address.is_tls:
        tls = {name: value for name, value in _connection_options(address).items() if name.startswith("ssl_")}
        options |= {"ssl": True, **tls}
    return options


def _connection_options(address: RedisAddress) -> dict[str, Any]:
    """Return the connection options in the URL, without host and port."""
    url_options = parse_url(address.plain)  # type: ignore[no-untyped-call]
    return {
        name: value for name, value in url_options.items() if name not in ("host", "port", "connection_class")
    }
