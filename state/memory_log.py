"""What is logged of dialog memories: the document's lines, at DEBUG, and what is dropped; values masked.

Source: dialog state document, section 8 ("Expected log output").
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pydantic import JsonValue

from ..models.memory.masking import for_log, mask
from ..models.memory.services import private_names
from .memory_values import Look, MemoryRules, Owner

log = logging.getLogger("symposia.state.memory")


def log_retrieved(owner: Owner, look: Look) -> None:
    """A memory was read."""
    if log.isEnabledFor(logging.DEBUG):
        state = look.room.value
        shown = for_log(state.values(), private_names(state.service))
        log.debug("Dialog state retrieved: user_id=%s, room_id=%s, cached_params=%s", *_shown(owner), shown)


def log_merging(
    service: str,
    *,
    cached: Mapping[str, JsonValue],
    new: Mapping[str, JsonValue],
    merged: Mapping[str, JsonValue],
) -> None:
    """A new message was merged with what is remembered."""
    if log.isEnabledFor(logging.DEBUG):
        private = private_names(service)
        log.debug("Merging: cached=%s, new=%s", for_log(cached, private), for_log(new, private))
        log.debug("Merged params: %s", for_log(merged, private))


def log_stored(owner: Owner, rules: MemoryRules) -> None:
    """A memory was written."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Dialog state stored: user_id=%s, room_id=%s, ttl=%ds", *_shown(owner), rules.ttl_s)


def log_dropped(key: str, why: str) -> None:
    """A memory was removed."""
    log.warning("Dialog state %r dropped: %s", mask("key", key), why)


def _shown(owner: Owner) -> tuple[object, object]:
    """User and room: somebody's address or telephone number may be their id."""
    return mask("user_id", owner.user), mask("room_id", owner.room)
