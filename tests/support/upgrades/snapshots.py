"""The state of a Redis and of an SQLite archive as text, and back: what the fixture of a release consists of.

Redis is a JSON object: for each key its type, value and remaining time to live. The archive is the SQL that
creates it. Both hold the time at which they were written. `load_redis` and `load_archive` move all times, those in
stream ids and marks too, by the time that has passed since, so that no deadline is over. Times in ISO format, such as
those of messages, are history and stay.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

from redis import Redis

from symposia.state.redis.keys import METRICS, PREFIX, QUEUE_PROGRESS, WORKERS

#: Stand for the folder in which the fixture was written, and for that of the code in tracebacks.
FOLDER, CODE = "/the/folder", "/the/code"
#: Times of the Unix epoch in seconds or milliseconds, outside of hexadecimal numbers.
_TIME = re.compile(r"(?<![0-9a-zA-Z.'-])'?[1-9](?:[0-9]{9}|[0-9]{12})(?![0-9a-zA-Z])")
#: Other numbers of that size are farther from the time at which the fixture was written.
_NEAR_MS = 400 * 86_400_000
#: Keys of processes that run no longer.
_OF_PROCESSES = {METRICS, QUEUE_PROGRESS, WORKERS}


def dump_redis(client: Redis, folder: Path) -> dict[str, Any]:
    """Return all keys of Symposia but those of its processes, sorted."""
    keys = {key for key in client.scan_iter(f"{PREFIX}:*") if "{metrics}:batch" not in key} - _OF_PROCESSES
    kept = {key: _read(client, key) for key in sorted(keys)}
    text = _without_paths(json.dumps(kept, ensure_ascii=False), folder)
    return cast("dict[str, Any]", json.loads(text))


def _without_paths(text: str, folder: Path) -> str:
    return text.replace(str(folder), FOLDER).replace(str(Path(__file__).parents[3]), CODE)


def _read(client: Redis, key: str) -> dict[str, Any]:
    kind = str(client.type(key))
    readers: dict[str, Callable[[], Any]] = {
        "string": lambda: client.get(key),
        "hash": lambda: dict(sorted(client.hgetall(key).items())),
        "zset": lambda: dict(client.zrange(key, 0, -1, withscores=True)),
        "list": lambda: client.lrange(key, 0, -1),
        "stream": lambda: client.xrange(key),
    }
    ttl_ms = client.pttl(key)
    return {"type": kind, "value": readers[kind](), "ttl_ms": ttl_ms if ttl_ms >= 0 else None}


def load_redis(client: Redis, kept: dict[str, Any], *, folder: Path, passed_ms: int, written_ms: int) -> None:
    """Write the keys of a fixture into an empty Redis, their times moved by `passed_ms`."""
    text = json.dumps(kept, ensure_ascii=False).replace(FOLDER, str(folder))
    for key, entry in json.loads(_move(text, passed_ms, written_ms)).items():
        _write(client, key, entry["type"], entry["value"])
        if entry["ttl_ms"] is not None:
            client.pexpire(key, entry["ttl_ms"])


def _write(client: Redis, key: str, kind: str, value: Any) -> None:
    if kind == "string":
        client.set(key, value)
    elif kind == "hash":
        client.hset(key, mapping=value)
    elif kind == "zset":
        client.zadd(key, value)
    elif kind == "list":
        client.rpush(key, *value)
    else:
        for entry_id, fields in value:
            client.xadd(key, fields, id=entry_id)


def dump_archive(file: Path, folder: Path) -> str:
    """Return the SQL that creates an SQLite database; its search index is built again, as SQLite cannot dump it."""
    with closing(sqlite3.connect(file)) as connection:
        virtual = dict(
            connection.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL %'")
        )
        statements = [it for it in connection.iterdump() if not _is_of_virtual(it, tuple(virtual))]
    built = [f"{sql};\nINSERT INTO {name}({name}) VALUES ('rebuild');" for name, sql in virtual.items()]
    return _without_paths("\n".join([*statements[:-1], *built, statements[-1]]) + "\n", folder)


def _is_of_virtual(statement: str, names: tuple[str, ...]) -> bool:
    """Return whether a statement creates or fills a virtual table or one of its hidden tables."""
    found = re.match(r"""(?:INSERT INTO|CREATE TABLE) ["'](\w+)""", statement)
    hidden = found is not None and found[1].startswith(names)
    return hidden or "sqlite_master" in statement or statement.startswith("PRAGMA writable_schema")


def load_archive(file: Path, sql: str, *, passed_ms: int, written_ms: int) -> None:
    """Create an SQLite database of the SQL of a fixture, its times moved by `passed_ms`."""
    text = _move(sql.replace(FOLDER, str(file.parent)), passed_ms, written_ms)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(text)


def _move(text: str, passed_ms: int, written_ms: int) -> str:
    return _TIME.sub(partial(_move_time, passed_ms=passed_ms, written_ms=written_ms), text)


def _move_time(found: re.Match[str], *, passed_ms: int, written_ms: int) -> str:
    quote, digits = re.fullmatch("('?)(.+)", found[0]).groups()  # type: ignore[union-attr]
    unit = 1 if len(digits) == 13 else 1000
    if abs(int(digits) * unit - written_ms) > _NEAR_MS:
        return found[0]
    return f"{quote}{int(digits) + passed_ms // unit}"
