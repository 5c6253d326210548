"""Builders of the dialog memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, cast

from redis import Redis

from ...config.settings import Settings
from ...memory.rooms import DialogMemory
from ...memory.sentences import ParsedSentences
from ...memory.store import MemoryStore
from ...memory.turn_memory import TurnMemory
from ...memory.unstored import UnstoredStatements
from ...memory.values import MemoryRules
from ...models.errors import AgentError, InvalidInput
from ...models.memory.recollections import Recollections
from ...models.text.redis_address import with_key_prefix
from ...state.redis.connect import connect
from .connection import connect_in_use, redis_url_in_use

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from ...memory.long_term import LongTermMemory
    from ...memory.turn_recollections import TurnRecollections

#: Seconds that a turn waits for the memory; then the turn runs without it.
_MEMORY_TIMEOUT_S = 2.0


def memory_url(settings: Settings) -> str:
    """Return the Redis URL of memories: the configured one, else the Redis of sessions."""
    chosen = settings.memory_redis_url
    if chosen is None:
        return redis_url_in_use(settings)
    return with_key_prefix(chosen.get_secret_value(), settings.key_prefix)


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


_STORE_METHODS = ("recall", "remember", "forget")


def recollections_of(settings: Settings, archive: Archive | None) -> Recollections:
    """Return the store of the long-term memory: the configured object, else the archive.

    Raises:
        InvalidInput: The object cannot be imported or has not the methods of a store, or there is no archive.
    """
    path = settings.recall_store
    if path is not None:
        return _load_store(path)
    if archive is None:
        rule = "must be set where no archive is configured"
        raise InvalidInput("recall_store", None, rule)
    from ...archive.recollections import ArchivedRecollections

    return ArchivedRecollections(archive, max_texts=settings.recall_max_texts)


@cache
def _load_store(path: str) -> Recollections:
    from ...agents.execution.loading import load_object

    try:
        store = load_object(path)
    except AgentError as error:
        raise InvalidInput("recall_store", path, str(error)) from error
    missing = [name for name in _STORE_METHODS if not callable(getattr(store, name, None))]
    if missing:
        raise InvalidInput("recall_store", path, f"must have the method {missing[0]}")
    return cast("Recollections", store)


def turn_recollections(settings: Settings, sessions: Redis, archive: Archive | None) -> TurnRecollections:
    """Return the long-term memory of a process that runs turns. Connects lazily.

    Args:
        settings: The settings of the installation.
        sessions: Redis of the sessions.
        archive: The archive. None: none is configured.
    """
    from ...memory.turn_recollections import PendingNotes, TurnRecollections

    return TurnRecollections(_find_store(settings, lambda: archive), PendingNotes(sessions))


def long_term_memory(
    settings: Settings, sessions: Redis, find_archive: Callable[[], Archive | None]
) -> LongTermMemory:
    """Return the long-term memory for programs and people. Connects lazily.

    Args:
        settings: The settings of the installation.
        sessions: Redis of the sessions.
        find_archive: Returns the archive. None: none is configured.
    """
    from ...memory.long_term import LongTermMemory
    from ...memory.turn_recollections import PendingNotes

    return LongTermMemory(_find_store(settings, find_archive), PendingNotes(sessions))


def _find_store(
    settings: Settings, find_archive: Callable[[], Archive | None]
) -> Callable[[], Recollections]:
    # A failed import is tried again at the next call.
    return cache(lambda: recollections_of(settings, find_archive()))


def pending_notes(redis_url: str) -> int:
    """Return the number of turns whose notes wait for the store.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    from ...memory.turn_recollections import PendingNotes

    with connect(redis_url, retries=0) as client:
        return PendingNotes(client).count()
