"""Differences of redis-py 5 and later versions, which `constraints-lowest.txt` and `constraints.txt` name."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from redis import ConnectionPool
from redis._parsers.base import BaseParser
from redis.exceptions import MovedError

from .connection_errors import LOST_CONNECTION_ERRORS

_name = signature(ConnectionPool.get_connection).parameters.get("command_name")
#: Arguments of `ConnectionPool.get_connection`: before redis-py 5.3 the name of a command, which it does not use.
COMMAND_NAME = ("EVALSHA",) if _name is not None and _name.default is Parameter.empty else ()

#: Errors after which a command is sent again: before redis-py 6 those of the object `retry` do not suffice.
RETRIED = list(LOST_CONNECTION_ERRORS)


def clients_of_sentinels(pool: Any) -> list[Any]:
    """Return the clients of the Sentinels of a pool of connections: redis-py 5 does not close them."""
    manager = getattr(pool, "sentinel_manager", None)
    return [] if manager is None else manager.sentinels


class RetriedPipeline:
    """A pipeline that is sent again after each of these errors; redis-py 5 does that only after a timeout."""

    def _disconnect_raise_reset(self, connection: Any, _error: Exception) -> None:
        """As in Pipeline of redis-py 5, for pipelines that watch no keys."""
        connection.disconnect()


class RetriedAsyncPipeline:
    """The same for asyncio."""

    async def _disconnect_raise_reset(self, connection: Any, _error: Exception) -> None:
        """As in Pipeline of redis-py 5, for pipelines that watch no keys."""
        await connection.disconnect()


# redis-py 5 reads the answer of a node of a cluster as an error without a class of its own.
BaseParser.EXCEPTION_CLASSES.setdefault("MOVED", MovedError)
