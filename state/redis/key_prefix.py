"""Prefix of the keys of an installation, so that several installations can share one Redis.

A client with a prefix writes it before each key of each command, and removes it from answers that contain keys, so
all other code sees keys without it. Hash tags stay, so keys of one slot remain in one slot. Scripts use no keys but
those that they get as KEYS. A command that is not listed here is refused, because its keys are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Commands whose first argument is their only key.
_ONE_KEY = frozenset(
    """
    APPEND DECR DECRBY DUMP EXPIRE EXPIREAT GET GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HGET
    HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HRANDFIELD HSCAN HSET HSETNX HSTRLEN HVALS
    INCR INCRBY INCRBYFLOAT LINDEX LINSERT LLEN LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM
    PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PSETEX PTTL RESTORE RPOP RPUSH RPUSHX SADD SCARD SET SETEX
    SETNX SETRANGE SISMEMBER SMEMBERS SMISMEMBER SPOP SRANDMEMBER SREM SSCAN STRLEN TTL TYPE XACK
    XADD XDEL XLEN XRANGE XREVRANGE XTRIM ZADD ZCARD ZCOUNT ZINCRBY ZMSCORE ZPOPMAX ZPOPMIN ZRANGE
    ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZREVRANK
    ZSCAN ZSCORE
    """.split()  # noqa: SIM905 - shorter than a list
) | {"MEMORY USAGE"}
#: Commands whose arguments are all keys.
_ONLY_KEYS = frozenset(("DEL", "EXISTS", "MGET", "TOUCH", "UNLINK", "WATCH"))
#: First words of commands without keys.
_NO_KEYS = frozenset(
    """
    ACL AUTH CLIENT CLUSTER COMMAND CONFIG DBSIZE DISCARD ECHO EXEC FLUSHALL FLUSHDB HELLO INFO
    LATENCY MULTI PING READONLY READWRITE ROLE SCRIPT SELECT SHUTDOWN SLOWLOG TIME UNWATCH WAIT
    """.split()  # noqa: SIM905 - shorter than a list
)
#: Commands with two keys, then options.
_TWO_KEYS = frozenset(("COPY", "RENAME", "RENAMENX"))
#: Commands with the number of their keys as the second argument.
_SCRIPTS = frozenset(("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"))


def add_prefix(prefix: str, command: Sequence[Any]) -> Sequence[Any]:
    """Return a command with the prefix before each key; O(number of its keys and arguments).

    Raises:
        ValueError: The keys of the command are not known.
    """
    name = command[0]
    if name in _ONE_KEY:
        return (name, _prefixed(prefix, command[1]), *command[2:])
    if name in _SCRIPTS:
        return _add_to_range(prefix, command, 3, 3 + int(command[2]))
    if name in _ONLY_KEYS:
        return _add_to_range(prefix, command, 1, len(command))
    if name == "XREAD":
        streams = next(i for i, value in enumerate(command) if value in ("STREAMS", b"STREAMS")) + 1
        return _add_to_range(prefix, command, streams, streams + (len(command) - streams) // 2)
    if name == "SCAN":
        return _add_to_scan(prefix, command)
    if name in _TWO_KEYS:
        return _add_to_range(prefix, command, 1, 3)
    if str(name).partition(" ")[0] in _NO_KEYS:
        return command
    raise ValueError(f"{name!r}: the keys of this command are not known, and the setting key_prefix is used")


def _prefixed(prefix: str, key: Any) -> Any:
    return prefix.encode() + key if isinstance(key, bytes) else f"{prefix}{key}"


def _add_to_range(prefix: str, command: Sequence[Any], start: int, end: int) -> Sequence[Any]:
    keys = (_prefixed(prefix, key) for key in command[start:end])
    return (*command[:start], *keys, *command[end:])


def _add_to_scan(prefix: str, command: Sequence[Any]) -> Sequence[Any]:
    for i, value in enumerate(command):
        if value in ("MATCH", b"MATCH"):
            return _add_to_range(prefix, command, i + 1, i + 2)
    return (*command, "MATCH", f"{prefix}*")


def remove_prefix(prefix: str, name: Any, answer: Any) -> Any:
    """Return the answer of a command without the prefix of its keys."""
    if isinstance(answer, Exception):  # of a pipeline
        return answer
    if name == "XREAD" and answer:
        cut = len(prefix)
        if isinstance(answer, dict):  # of protocol version 3
            return {key[cut:]: entries for key, entries in answer.items()}
        return [[key[cut:], entries] for key, entries in answer]
    if name == "SCAN" and isinstance(answer, tuple | list):
        cursor, keys = answer
        return cursor, [key[len(prefix) :] for key in keys]
    return answer


class PrefixedCommands:
    """Mixin of clients; without a prefix it changes nothing."""

    key_prefix = ""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis, with the prefix."""
        if not self.key_prefix:
            return super().execute_command(*args, **options)  # type: ignore[misc]
        answer = super().execute_command(*add_prefix(self.key_prefix, args), **options)  # type: ignore[misc]
        return remove_prefix(self.key_prefix, args[0], answer)


class AsyncPrefixedCommands:
    """The same for asyncio."""

    key_prefix = ""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Redis, with the prefix."""
        if not self.key_prefix:
            return await super().execute_command(*args, **options)  # type: ignore[misc]
        answer = await super().execute_command(*add_prefix(self.key_prefix, args), **options)  # type: ignore[misc]
        return remove_prefix(self.key_prefix, args[0], answer)


class _PrefixedStack:
    """Mixin of pipelines: the commands that were added, whose answers may contain keys."""

    key_prefix = ""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As in Pipeline, with the prefix."""
        if not self.key_prefix:
            return super().execute_command(*args, **options)  # type: ignore[misc]
        added = super().execute_command(*add_prefix(self.key_prefix, args), **options)  # type: ignore[misc]
        if added is self:
            self.__dict__.setdefault("_names", []).append(args[0])
        return added

    def _remove_prefix(self, names: Iterable[Any], answers: list[Any]) -> list[Any]:
        pairs = zip(names, answers, strict=True)
        return [remove_prefix(self.key_prefix, name, answer) for name, answer in pairs]


class PrefixedPipeline(_PrefixedStack):
    """Mixin of pipelines."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """As in Pipeline, without the prefix in the answers."""
        names = self.__dict__.pop("_names", ())
        answers: list[Any] = super().execute(raise_on_error)  # type: ignore[misc]
        return self._remove_prefix(names, answers) if names else answers


class AsyncPrefixedPipeline(_PrefixedStack):
    """The same for asyncio."""

    async def execute(self, raise_on_error: bool = True, **options: Any) -> list[Any]:
        """As in Pipeline, without the prefix in the answers."""
        names = self.__dict__.pop("_names", ())
        answers: list[Any] = await super().execute(raise_on_error, **options)  # type: ignore[misc]
        return self._remove_prefix(names, answers) if names else answers


class PrefixedSlots:
    """Mixin of cluster clients, which group the keys of a command by slot before they send it."""

    key_prefix = ""
    keyslot: Callable[[Any], int]

    def _partition_keys_by_slot(self, keys: Iterable[Any]) -> dict[int, list[Any]]:
        slots: dict[int, list[Any]] = {}
        for key in keys:
            slots.setdefault(self.keyslot(_prefixed(self.key_prefix, key)), []).append(key)
        return slots
