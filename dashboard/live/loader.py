"""Reads of session rows from Redis, many sessions in one round trip."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from ...jobs.condition_rules import parked_questions
from ...jobs.conditions import Roster
from ...jobs.last_error import NEWEST_EVENTS, newest_error
from ...models.errors import CorruptSession, NewerFormat
from ...state.redis.formats import check_format
from ...state.redis.keys import session_key
from ...state.redis.readers import Entry, is_wrong_type, read_entries
from ...state.redis.scripts import view_fields
from ...state.sessions.records import SessionState
from ..views.collab_row import CollabFacts, CollabRow, build_row
from ..views.unreadable import UnreadableSession
from .positions import newest_position

#: Sessions per round trip.
_BATCH = 100


@dataclass(slots=True)
class LoadedSession:
    """A session as it was read."""

    state: SessionState
    facts: CollabFacts
    roster: Roster
    #: Its row without its attention.
    row: CollabRow


async def load_sessions(
    redis: Redis, session_ids: Sequence[str], *, now_ms: int, known: dict[str, LoadedSession]
) -> AsyncIterator[LoadedSession | UnreadableSession]:
    """Yield the sessions that exist, in this order.

    Args:
        redis: The client.
        session_ids: The sessions.
        now_ms: The time by the server's clock.
        known: What was read before: documents are parsed again only after they changed.
    """
    for start in range(0, len(session_ids), _BATCH):
        some = session_ids[start : start + _BATCH]
        pipeline: Any = redis.pipeline(transaction=False)
        for session_id in some:
            key = session_key(session_id, "session")
            pipeline.hmget(key, [*view_fields(), "collab", "spec"])
            pipeline.hgetall(session_key(session_id, "turns"))
            pipeline.xrevrange(session_key(session_id, "events"), count=NEWEST_EVENTS)
        answers = await pipeline.execute(raise_on_error=False)
        for session_id, values, turns, events in zip(
            some, answers[0::3], answers[1::3], answers[2::3], strict=True
        ):
            try:
                _check_types(session_id, values, turns, events)
                session = _session(session_id, now_ms, values, turns, read_entries(events), known)
            except (CorruptSession, NewerFormat) as error:
                status = None if isinstance(values, Exception) else values[view_fields().index("status")]
                yield UnreadableSession(session_id, str(error), status)
                continue
            if session is not None:
                yield session


def _check_types(session_id: str, *answers: object) -> None:
    """Raise CorruptSession if a key is of another type; raise any other error in the answers."""
    for part, answer in zip(("session", "turns", "events"), answers, strict=True):
        if is_wrong_type(answer):
            raise CorruptSession(session_id, part=part, detail="the key has another type")
        if isinstance(answer, Exception):
            raise answer


def _session(
    session_id: str,
    now_ms: int,
    values: list[str | None],
    turns: dict[str, str],
    events: list[Entry],
    earlier: dict[str, LoadedSession],
) -> LoadedSession | None:
    fields: dict[str, str | None] = dict(zip(view_fields(), values[:-2], strict=True))
    collab, spec = values[-2:]
    if collab is None or spec is None:
        return None
    state = SessionState(session_id, now_ms, fields, turns)
    check_format("session", session_id, state.format)
    before = earlier.get(session_id)
    if before is not None and before.facts.edition == state.edition:
        facts, roster = before.facts, before.roster
    else:
        facts = CollabFacts.read(session_id, collab, spec, edition=state.edition)
        roster = Roster.read(session_id, collab, spec)
    position = newest_position((f"{state.updated_ms}-0", *(entry_id for entry_id, _ in events[:1])))
    row = build_row(state, facts, position=position, last_error=newest_error(events))
    # An invalid record must not fail later, when the attention is judged.
    _ = list(parked_questions(state, state.open_turns()))
    return LoadedSession(state, facts, roster, row)
