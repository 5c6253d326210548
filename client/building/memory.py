"""Builders of the dialog memory."""

from __future__ import annotations

from redis import Redis

from ...config.settings import Settings
from ...memory.rooms import DialogMemory
from ...memory.sentences import ParsedSentences
from ...memory.store import MemoryStore
from ...memory.turn_memory import TurnMemory
from ...memory.unstored import UnstoredStatements
from ...memory.values import MemoryRules
from ...state.redis.connect import connect
from .connection import connect_in_use, redis_url_in_use

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
    url = memory_url(settings)
    client = connect(url, retries=0, timeout_s=_MEMORY_TIMEOUT_S)
    # Without a server of its own, the memory is unavailable only when the sessions are.
    sessions = None if url == redis_url_in_use(settings) else connect(redis_url_in_use(settings))
    unstored = None if sessions is None else UnstoredStatements(sessions)
    return TurnMemory(
        MemoryStore(client, memory_rules(settings)), unstored, ParsedSentences(sessions or client)
    )


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
        sessions=sessions or connect_in_use(settings),
    )
