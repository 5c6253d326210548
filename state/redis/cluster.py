"""Clients of a Redis Cluster, which look up its nodes on the first command and after a node is lost or moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from redis import Redis
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.cluster import ClusterPipeline as AsyncClusterPipeline
from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, ClusterPipeline, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry

from ...models.errors import ClientClosed
from ...models.text.redis_address import RedisAddress, split_key_prefix
from ...patches.redis_connections import PACKER, InterruptiblePool
from .connection_errors import LOST_CLUSTER_ERRORS, AsyncConnectionRetry, ConnectionRetry, convert_error
from .key_prefix import (
    AsyncPrefixedCommands,
    AsyncPrefixedPipeline,
    PrefixedCommands,
    PrefixedPipeline,
    PrefixedSlots,
)

_HEALTH_CHECK_S = 30


class _Pool(InterruptiblePool):
    """The connections to one node."""

    def __init__(self, **options: Any) -> None:
        super().__init__(command_packer=PACKER, health_check_interval=_HEALTH_CHECK_S, **options)


class _Pipeline(PrefixedPipeline, ClusterPipeline):
    url: str

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """As in ClusterPipeline."""
        try:
            return super().execute(raise_on_error)
        except LOST_CLUSTER_ERRORS as error:
            raise convert_error(error, self.url) from error


class _Cluster(PrefixedSlots, PrefixedCommands, RedisCluster):
    """A connected client."""

    def __init__(self, *, shown_url: str, retry: ConnectionRetry, **options: Any) -> None:
        self.url, self.key_prefix = shown_url, split_key_prefix(shown_url)[1]
        # Replaces redis-py's own retries, which do not pause between attempts.
        self._retry = retry
        super().__init__(retry=Retry(NoBackoff(), 0), **options)

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in RedisCluster."""
        ask = partial(super().execute_command, *args, **options)
        try:
            return self._retry.call_with_retry(ask, self._replace_node)
        except LOST_CLUSTER_ERRORS as error:
            raise convert_error(error, self.url) from error

    def _replace_node(self, _error: Exception) -> None:
        """Choose another node for a command that any node can answer."""
        self.replace_default_node()

    def determine_slot(self, *args: Any) -> int | None:
        """As in RedisCluster, but without asking a random node for the keys: that node may be the lost one."""
        if args[0] == "XREAD":
            return slot_of_streams(self, args)
        slot: int | None = super().determine_slot(*args)
        return slot

    def pipeline(self, transaction: Any = None, _shard_hint: Any = None) -> _Pipeline:
        """As in RedisCluster, which names the class of its pipelines."""
        made = _Pipeline(
            nodes_manager=self.nodes_manager,
            commands_parser=self.commands_parser,
            startup_nodes=list(self.nodes_manager.startup_nodes.values()),
            result_callbacks=self.result_callbacks,
            cluster_response_callbacks=self.cluster_response_callbacks,
            reinitialize_steps=self.reinitialize_steps,
            retry=self._retry,
            lock=self._lock,
            transaction=transaction,
        )
        made.url, made.key_prefix = self.url, self.key_prefix
        return made


def slot_of_streams(client: RedisCluster | AsyncRedisCluster, command: Sequence[Any]) -> int:
    """Return the slot of the streams of an XREAD: all belong to one session."""
    named = command[command.index(b"STREAMS") + 1 :]
    return int(client.keyslot(named[0]))


class ClusterClient:
    """The commands of redis-py's cluster client; nothing is sent before the first command.

    redis-py's own client asks the cluster for its nodes when it is created. This client can be created while
    the cluster is unavailable.
    """

    def __init__(self, address: RedisAddress, url: str, *, retries: int, options: dict[str, Any]) -> None:
        self.url = url
        self._address = address
        self._retries = retries
        self._options = options
        self._made: _Cluster | None = None
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster(), name)

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; each later command raises ClientClosed."""
        self._is_closed = True
        if self._made is not None:
            self._made.disconnect_connection_pools()  # type: ignore[no-untyped-call]
            self._made.close()

    def _cluster(self) -> _Cluster:
        if self._is_closed:
            raise ClientClosed
        # No lock, because an interrupted thread might keep it. If two threads create a client at once, one is
        # dropped.
        if self._made is None:
            self._made = self._connected()
        return self._made

    def _connected(self) -> _Cluster:
        try:
            return _Cluster(
                url=self._address.plain,
                startup_nodes=[_node(node) for node in self._address.nodes[1:]],
                connection_pool_class=_Pool,
                shown_url=self.url,
                retry=ConnectionRetry(self._retries, lost=LOST_CLUSTER_ERRORS),
                **self._options,
            )
        except LOST_CLUSTER_ERRORS as error:
            raise convert_error(error, self.url) from error


def info_by_server(client: Redis, section: str) -> dict[str, dict[str, Any]]:
    """Return a section of INFO by server address: each master of a cluster; a single server under `""`."""
    if not isinstance(client, ClusterClient):
        return {"": client.info(section)}
    return {node.name: client.info(section, target_nodes=node) for node in client.get_primaries()}


def _node(address: tuple[str, int]) -> ClusterNode:
    return ClusterNode(*address)  # type: ignore[no-untyped-call]


class _AsyncPipeline(AsyncPrefixedPipeline, AsyncClusterPipeline):  # type: ignore[misc]  # of redis-py
    """A pipeline with the prefix of its client."""


class AsyncClusterClient(PrefixedSlots, AsyncPrefixedCommands, AsyncRedisCluster):  # type: ignore[misc]  # of redis-py
    """The same for asyncio."""

    url: str

    def __init__(self, address: RedisAddress, url: str, *, retries: int, options: dict[str, Any]) -> None:
        self.url, self.key_prefix = url, split_key_prefix(url)[1]
        given = parse_url(address.plain)  # type: ignore[no-untyped-call]
        kept = {
            name: value for name, value in given.items() if name not in ("host", "port", "connection_class")
        }
        super().__init__(
            startup_nodes=[AsyncClusterNode(*node) for node in address.nodes],
            retry=AsyncConnectionRetry(retries),
            ssl=address.is_tls,
            **{**options, **kept},
        )

    async def exists(self, *names: Any) -> Any:
        """As in RedisCluster, which does not use `execute_command` for it; the names share a slot."""
        return await self.execute_command("EXISTS", *names)

    def pipeline(self, transaction: Any = None, _shard_hint: Any = None) -> AsyncClusterPipeline:
        """As in RedisCluster."""
        made = _AsyncPipeline(self, transaction)  # type: ignore[abstract]  # of redis-py
        made.key_prefix = self.key_prefix
        return made

    async def _determine_slot(self, command: str, *args: Any) -> int:
        if command == "XREAD":
            return slot_of_streams(self, args)
        return await super()._determine_slot(command, *args)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in RedisCluster."""
        try:
            return await super().execute_command(*args, **options)
        except LOST_CLUSTER_ERRORS as error:
            raise convert_error(error, self.url) from error
