"""Log lines about dialog memories: the lines of the document, at DEBUG, and dropped memories; values masked.

Source: dialog state document, section 8 ("Expected log output").
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pydantic import JsonValue

from ...models.memory.masking import format_for_log, mask
from ...models.memory.services import private_names
from .values import MemoryRules, MemorySnapshot, Owner

log = logging.getLogger("symposia.state.memory.rooms")


def log_retrieved(owner: Owner, look: MemorySnapshot) -> None:
    """Log that a memory was read."""
    if log.isEnabledFor(logging.DEBUG):
        state = look.room.value
        shown = format_for_log(state.values(), private_names(state.service))
        log.debug(
            "Dialog state retrieved: user_id=%s, room_id=%s, cached_params=%s", *_mask_owner(owner), shown
        )


def log_merging(
    service: str,
    *,
    cached: Mapping[str, JsonValue],
    new: Mapping[str, JsonValue],
    merged: Mapping[str, JsonValue],
) -> None:
    """Log that a new message was merged with the memory."""
    if log.isEnabledFor(logging.DEBUG):
        private = private_names(service)
        log.debug("Merging: cached=%s, new=%s", format_for_log(cached, private), format_for_log(new, private))
        log.debug("Merged params: %s", format_for_log(merged, private))


def log_stored(owner: Owner, rules: MemoryRules) -> None:
    """Log that a memory was written."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("Dialog state stored: user_id=%s, room_id=%s, ttl=%ds", *_mask_owner(owner), rules.ttl_s)


def log_dropped(key: str, why: str) -> None:
    """Log that a memory was removed."""
    log.warning("Dialog state %r dropped: %s", mask("key", key), why)


def _mask_owner(owner: Owner) -> tuple[object, object]:
    """Return user and room, masked: their ids may be an address or telephone number."""
    return mask("user_id", owner.user), mask("room_id", owner.room)
