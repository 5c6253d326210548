"""Reads of the states of many sessions in few round trips, for monitors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from redis import Redis

from ...models.errors import CorruptSession
from ..redis.keys import session_key
from ..redis.readers import is_wrong_type
from ..redis.scripts import view_fields
from .records import SessionState

#: Sessions per pipeline.
BATCH = 50


def read_states(
    client: Redis, session_ids: Sequence[str], *, now_ms: int
) -> Iterator[SessionState | CorruptSession | None]:
    """Yield the state of each session, in this order: one round trip (in a cluster: one per node) for `BATCH` sessions.

    Fields and turns of a session may be from two instants, so no decision of a worker may depend on them.

    Args:
        client: Client that decodes responses.
        session_ids: The sessions.
        now_ms: The time by the server's clock, in milliseconds since the epoch.

    Returns:
        The state; an error if a key has the wrong type; None if the session does not exist.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    for start in range(0, len(session_ids), BATCH):
        batch = session_ids[start : start + BATCH]
        pipeline = client.pipeline(transaction=False)
        for session_id in batch:
            pipeline.hmget(session_key(session_id, "session"), list(view_fields()))
            pipeline.hgetall(session_key(session_id, "turns"))
        answers = pipeline.execute(raise_on_error=False)
        for session_id, values, turns in zip(batch, answers[0::2], answers[1::2], strict=True):
            yield _state(session_id, now_ms, values, turns)


def _state(session_id: str, now_ms: int, values: Any, turns: Any) -> SessionState | CorruptSession | None:
    for part, answer in (("session", values), ("turns", turns)):
        if is_wrong_type(answer):
            return CorruptSession(session_id, part=part, detail="the key has another type")
        if isinstance(answer, Exception):
            raise answer
    fields: dict[str, str | None] = dict(zip(view_fields(), values, strict=True))
    return None if fields["status"] is None else SessionState(session_id, now_ms, fields, turns)
