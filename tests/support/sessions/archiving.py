"""Archiving by hand, and whether the archive has what is live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis import Redis
from sqlalchemy import event

from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.models.sessions.archived import ArchiveProgress
from symposia.state.redis.readers import Stream, StreamReader
from symposia.tasks.runtime.archiving import Archiver, ArchivingTimes

TIMES = ArchivingTimes(every_ms=100, retention_ms=60_000)
NOTHING = ArchiveProgress()
STREAMS: tuple[Stream, ...] = ("dialog", "events", "journal")


def archiver(archive: Archive, client: Redis) -> Archiver:
    return Archiver(archive, client, TIMES)


def archive_now(archive: Archive, table: Table) -> None:
    """Archives a session as it is now."""
    known = archive.writer.progress([table.id])
    archiver(archive, table.client).archive(table.id, known.get(table.id, NOTHING))


def live(client: Redis, session_id: str) -> dict[str, list[Any]]:
    streams = StreamReader(client)
    return {name: _read(streams.whole(session_id, name)) for name in STREAMS}


def archived(archive: Archive, session_id: str) -> dict[str, list[Any]]:
    return {name: _read(archive.reader.entries(session_id, name)) for name in STREAMS}


def _read(entries: Any) -> list[Any]:
    return [(entry_id, json.loads(text)) for entry_id, text in entries]


class Killed(BaseException):
    """The archiver is no more."""


@contextmanager
def killed_at(step: int, archive: Archive, client: Redis) -> Iterator[None]:
    """Kill the archiver before its `step`th statement, commit or call to Redis."""
    left = step

    def count(*_args: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    def counting(*args: Any, **options: Any) -> Any:
        count()
        return answering(*args, **options)

    answering, engine = client.evalsha, archive.database._engine
    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)
    client.evalsha = counting  # type: ignore[method-assign]
    try:
        yield
    except Killed:
        engine.dispose()
    finally:
        del client.evalsha
        event.remove(engine, "before_cursor_execute", count)
        event.remove(engine, "commit", count)
