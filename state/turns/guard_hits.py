"""Hits of guards after which the agent is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from pydantic import JsonValue
from pydantic_core import to_json
from redis import Redis

from ..redis.keys import calls_key, lock_key, session_key
from ..redis.scripts import ScriptValue, call_script
from ..sessions.records import Grant
from .journal import KEPT_MS


@dataclass(frozen=True, slots=True)
class GuardHit:
    """A hit of a guard, and the refused answer for the next request to the agent."""

    #: Number of the hit in this attempt.
    number: int
    #: Data of the event.
    about: Mapping[str, JsonValue]
    #: The refused answer, by its name in the call journal.
    answer: Mapping[str, str]


def record_hit(
    client: Redis, session_id: str, grant: Grant, hit: GuardHit, stored: Mapping[str, str]
) -> bool:
    """Write the event of a hit and the refused answer, once; return False if the turn is lost.

    Args:
        client: Redis client that decodes responses.
        session_id: The session of the turn.
        grant: The grant under which the agent answered.
        hit: The hit.
        stored: What is stored in the call journal of the turn, by name.
    """
    keys = [
        *(session_key(session_id, part) for part in ("session", "journal", "turns")),
        calls_key(session_id, grant.number),
        lock_key(session_id, grant.scope),
    ]
    args: dict[str, ScriptValue] = {
        "number": grant.number,
        "token": grant.token,
        "hit": hit.number,
        "about": to_json(hit.about),
        "ttl_ms": KEPT_MS,
    }
    answer = call_script(client, "turns/record_hit", keys, args, [*chain.from_iterable(stored.items())])
    return str(answer[0]) == "recorded"
