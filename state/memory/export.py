"""A user's copy of a memory: the whole context, and the messages of the sessions it came from.

Source: dialog state document, section 10 ("Context export").
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError
from redis import Redis

from ...models.memory.state import MemoryState, RememberedValue
from ...models.sessions.spec import SessionSpec
from ...models.text.ids import timestamp_from_ms
from ..redis.keys import session_key
from ..redis.streams import StreamReader
from .values import MemorySnapshot, Owner


def export_memory(owner: Owner, look: MemorySnapshot, sessions: Redis) -> dict[str, Any]:
    """Return context and messages as data. Raises RedisUnavailable."""
    state = look.room.value
    return {
        "user_id": owner.user,
        "room_id": owner.room,
        "exported_at": timestamp_from_ms(look.now_ms),
        "context": _context(state),
        "conversations": [
            {"session_id": session_id, "messages": _messages(sessions, session_id)}
            for session_id in state.sessions
            if _belongs_to(sessions, session_id, owner)
        ],
    }


def _context(state: MemoryState) -> dict[str, Any]:
    return {
        "service": state.service,
        "services": {
            service: {
                "parameters": {name: _parameter(known) for name, known in shelf.parameters.items()},
                "forgotten": sorted(shelf.forgotten),
            }
            for service, shelf in state.service_memories.items()
        },
        "metadata": {
            "last_updated_by": state.last_updated_by,
            "message_count": state.message_count,
            "conversation_id": state.conversation_id,
            "updated_at": timestamp_from_ms(state.timestamp_ms) if state.timestamp_ms else None,
        },
    }


def _parameter(known: RememberedValue) -> dict[str, Any]:
    return {
        "value": known.value,
        "source": known.source.value,
        "confidence": known.confidence,
        "session": known.session,
        "turn": known.turn,
        "set_at": timestamp_from_ms(known.at_ms),
    }


def _belongs_to(sessions: Redis, session_id: str, owner: Owner) -> bool:
    """Return whether the session is this user's, independent of the content of a memory."""
    text = sessions.hget(session_key(session_id, "session"), "spec")
    try:
        memory = SessionSpec.model_validate_json(str(text)).memory if text is not None else None
    except ValidationError:
        return False
    return memory is not None and (memory.user_id, memory.room_id) == (owner.user, owner.room)


def _messages(sessions: Redis, session_id: str) -> list[Any]:
    return [json.loads(text) for _, text in StreamReader(sessions).all(session_id, "dialog")]
