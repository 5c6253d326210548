"""All that a Redis holds, as text."""

from __future__ import annotations

from collections.abc import Iterator

from redis import Redis


def everything_kept(client: Redis) -> Iterator[str]:
    """Every key with its value. What goes while it is read is left out: workers still run."""
    readers = {
        "string": client.get,
        "hash": client.hgetall,
        "stream": client.xrange,
        "list": lambda key: client.lrange(key, 0, -1),
        "set": client.smembers,
        "zset": lambda key: client.zrange(key, 0, -1),
    }
    for key in client.scan_iter("*"):
        kind = client.type(key)
        if kind != "none":
            yield f"{key}: {readers[kind](key)}"
