"""Builders of the archive and of the dialog memory. SQL is imported only if an archive is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis import Redis

from ..config.settings import Settings, default_data_dir
from ..state.memory.rooms import DialogMemory
from ..state.memory.store import MemoryStore
from ..state.memory.values import MemoryRules
from ..state.redis.connect import connect
from ..tasks.runtime.archiving import Archiver, ArchivingTimes
from ..tasks.runtime.memory import TurnMemory
from .connection import redis_url_in_use

if TYPE_CHECKING:
    from ..archive.archive import Archive


def archive_url(settings: Settings) -> str | None:
    """Return the configured database URL, else that of a file in the data folder; None: no archive."""
    if not settings.archive:
        return None
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return f"sqlite:///{settings.data_dir.absolute() / 'archive.sqlite3'}"


def open_archive(settings: Settings) -> Archive | None:
    """Return the archive; None: no archive is configured. Connects lazily."""
    url = archive_url(settings)
    if url is None:
        return None
    from ..archive.archive import Archive

    # The folder of any other file may contain files that other users need.
    owns_folder = settings.database_url is None and settings.data_dir == default_data_dir()
    return Archive(url, owns_folder=owns_folder)


def build_archiver(settings: Settings, client: Redis) -> Archiver | None:
    """Return the archiver of a worker; None: no archive is configured."""
    archive = open_archive(settings)
    if archive is None:
        return None
    times = ArchivingTimes(
        every_ms=int(settings.archive_interval_s * 1000), retention_ms=settings.retention_s * 1000
    )
    return Archiver(archive, client, times)


#: Seconds that a turn waits for the memory; then the turn runs without it.
_MEMORY_TIMEOUT_S = 2.0


def memory_url(settings: Settings) -> str:
    """Return the Redis URL of memories: the configured one, else the Redis of sessions."""
    chosen = settings.memory_redis_url
    return redis_url_in_use(settings) if chosen is None else chosen.get_secret_value()


def memory_rules(settings: Settings) -> MemoryRules:
    """Return the memory rules of the settings."""
    return MemoryRules(
        ttl_s=settings.memory_ttl_s,
        max_bytes=settings.memory_max_bytes,
        hash_tag=settings.memory_hash_tag,
    )


def turn_memory(settings: Settings) -> TurnMemory:
    """Return the memory of a worker's turns. Connects lazily."""
    client = connect(memory_url(settings), retries=0, timeout_s=_MEMORY_TIMEOUT_S)
    return TurnMemory(MemoryStore(client, memory_rules(settings)))


def dialog_memory(
    settings: Settings, client: Redis | None = None, *, sessions: Redis | None = None
) -> DialogMemory:
    """Return the memory for programs and people. Connects lazily.

    Args:
        settings: The settings of the installation.
        client: Redis of the memories. None: a new connection.
        sessions: Redis of the sessions. None: a new connection.
    """
    return DialogMemory(
        client or connect(memory_url(settings), retries=1),
        memory_rules(settings),
        sessions=sessions or connect(redis_url_in_use(settings)),
    )
