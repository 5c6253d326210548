"""Writing of the record of a turn, before the turn itself is written."""

from __future__ import annotations

import logging

from redis.exceptions import RedisError

from ...models.errors import StateError
from ...models.turns.turn import TurnResult
from ...state.sessions.archiving import MOST_TURN_BYTES, RecordingStore
from ..runtime.runtime import Runtime
from .active_turn import ActiveTurn

log = logging.getLogger(__name__)


def record_turn(runtime: Runtime, active_turn: ActiveTurn, result: TurnResult) -> None:
    """Store the record of a turn, if its session records its calls.

    A record that is too large is cut. If Redis is unavailable, the turn is written without a record.
    """
    recorder = active_turn.services.recorder
    if recorder is None:
        return
    grant, planned = active_turn.grant, active_turn.planned
    binding = active_turn.facts.spec.agents[planned.participant].with_agent(grant.substitute)
    record = recorder.build(
        planned,
        token=grant.token,
        binding=binding,
        result=result,
        journal=active_turn.services.journal,
    )
    texts = (it.model_dump_json(exclude_defaults=True) for it in (record, record.cut()))
    store = RecordingStore(runtime.store.client)
    try:
        for text in texts:
            if len(text.encode()) <= MOST_TURN_BYTES and store.add(
                active_turn.session_id, grant.token, text, keep_ms=runtime.limits.retention_ms
            ):
                return
        log.warning("turn %s of session %s: no room for its record", grant.number, active_turn.session_id)
    except (RedisError, StateError) as error:
        log.warning(
            "turn %s of session %s: storing its record failed, it cannot be replayed: %s",
            grant.number,
            active_turn.session_id,
            error,
        )
