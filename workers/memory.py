"""Builds the dialog memory of an installation from its settings."""

from __future__ import annotations

from ..config.settings import Settings
from ..state.connect import connect
from ..state.memory import DialogMemory
from ..state.memory_store import MemoryStore
from ..state.memory_values import MemoryRules
from ..tasks.memory import TurnMemory
from .connection import redis_url_in_use

#: Seconds a turn waits for the memory: it goes on without.
_PATIENCE_S = 2.0


def memory_url(settings: Settings) -> str:
    """Where memories are kept: the configured place, else where sessions live."""
    chosen = settings.memory_redis_url
    return redis_url_in_use(settings) if chosen is None else chosen.get_secret_value()


def memory_rules(settings: Settings) -> MemoryRules:
    """How the settings want memories kept."""
    return MemoryRules(
        ttl_s=settings.memory_ttl_s,
        max_bytes=settings.memory_max_bytes,
        hash_tag=settings.memory_hash_tag,
    )


def turn_memory(settings: Settings) -> TurnMemory:
    """The memory of a worker's turns. Connects lazily."""
    client = connect(memory_url(settings), retries=0, timeout_s=_PATIENCE_S)
    return TurnMemory(MemoryStore(client, memory_rules(settings)))


def dialog_memory(settings: Settings) -> DialogMemory:
    """The memory for programs and people. Connects lazily."""
    client = connect(memory_url(settings), retries=1)
    return DialogMemory(client, memory_rules(settings), sessions=connect(redis_url_in_use(settings)))
