"""The row of one session in the list of sessions. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from ...models.sessions.plan import Totals
from ...models.sessions.spec import SessionSpec
from ...state.redis.readers import read_object, read_stored
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord

#: Limits of this many turns and more bound the cost of a session, and say nothing about its progress.
_FAR_LIMIT = 10_000


class LastError(TypedDict):
    """The newest failed turn of a session."""

    at_ms: int
    turn: int | None
    participant: str | None
    text: str


class Speaker(TypedDict):
    """A participant with a running or parked turn."""

    participant: str
    name: str
    turn: int
    state: str
    since_ms: int | None


class CollabRow(TypedDict):
    """One session. Times are in milliseconds since the epoch, costs in millionths of a US dollar."""

    id: str
    #: Id of the thread; None: the first session of its thread, or in none.
    thread: str | None
    title: str
    mode: str
    status: str
    reason: str | None
    detail: str | None
    #: One of `ATTENTIONS`; None: nothing. See `attention.py`.
    attention: str | None
    #: The attention in words, and what happens next without a person.
    attention_text: str | None
    attention_next: str | None
    #: Since when, and until when or when it is tried again.
    attention_since_ms: int | None
    attention_due_ms: int | None
    turns: int
    #: Maximum number of turns by the stop conditions; None: no such limit, or a far one.
    max_turns: int | None
    rounds: int
    messages: int
    tokens: int
    cost_micros: int
    speakers: list[Speaker]
    participants: int
    opened_ms: int
    updated_ms: int
    ended_ms: int | None
    last_error: LastError | None
    archived: bool
    #: Position of the newest change: the id of a stream entry.
    position: str


@dataclass(frozen=True, slots=True)
class CollabFacts:
    """Settings of a session that its row needs; they change with its edition only."""

    edition: int
    title: str
    mode: str
    #: Display name by participant id.
    names: Mapping[str, str]
    max_turns: int | None = None
    thread: str | None = None

    @classmethod
    def read(cls, session_id: str, collab: str, spec: str, *, edition: int = 0) -> CollabFacts:
        """Return the facts from the documents of a session.

        Args:
            session_id: The session.
            collab: The collab as JSON.
            spec: The spec as JSON.
            edition: Number of changes of these documents.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        stored = read_stored(SessionSpec, spec, session_id=session_id, part="spec")
        facts = cls._of_collab(session_id, collab)
        return replace(facts, edition=edition, max_turns=_max_turns(stored), thread=stored.thread_id)

    @classmethod
    def read_archived(cls, session_id: str, collab: str, spec: str) -> CollabFacts:
        """Return the facts of a session that has ended, without its limit of turns.

        Only the thread is read from the spec: a page of archived sessions has a hundred of them.

        Args:
            session_id: The session.
            collab: The collab as JSON.
            spec: The spec as JSON.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        thread = read_object(spec, session_id=session_id, part="spec").get("thread_id")
        return replace(cls._of_collab(session_id, collab), thread=thread if isinstance(thread, str) else None)

    @classmethod
    def _of_collab(cls, session_id: str, collab: str) -> CollabFacts:
        data = read_object(collab, session_id=session_id, part="collab")
        names = {}
        for participant in _objects(data.get("participants")):
            name = str(participant.get("participant_id"))
            names[name] = str(participant.get("display_name") or name)
        return cls(0, str(data.get("title") or ""), str(data.get("mode") or ""), names)


def build_row(
    state: SessionState,
    facts: CollabFacts,
    *,
    position: str,
    last_error: LastError | None = None,
    archived: bool = False,
) -> CollabRow:
    """Return the row of a session, without its attention: see `with_condition`.

    Args:
        state: The state of the session.
        facts: Its settings.
        position: Position of its newest change.
        last_error: Its newest failed turn, if known.
        archived: Whether it is read from the archive.
    """
    usage = state.usage
    return CollabRow(
        id=state.session_id,
        thread=facts.thread,
        title=facts.title,
        mode=facts.mode,
        status=state.status.value,
        reason=state.reason,
        detail=state.detail,
        attention=None,
        attention_text=None,
        attention_next=None,
        attention_since_ms=None,
        attention_due_ms=None,
        turns=state.closed,
        max_turns=facts.max_turns,
        rounds=state.rounds,
        messages=state.messages,
        tokens=usage.tokens,
        cost_micros=usage.cost_micros,
        speakers=[] if state.is_final else _speakers(state, facts),
        participants=len(facts.names),
        opened_ms=state.opened_ms,
        updated_ms=state.updated_ms,
        ended_ms=state.ended_ms,
        last_error=last_error,
        archived=archived,
        position=position,
    )


def _speakers(state: SessionState, facts: CollabFacts) -> list[Speaker]:
    return [
        Speaker(
            participant=turn.participant,
            name=facts.names.get(turn.participant, turn.participant),
            turn=turn.number,
            state=turn.status,
            since_ms=_since_ms(turn),
        )
        for turn in state.open_turns()
    ]


def _since_ms(turn: TurnRecord) -> int | None:
    return turn.parking.parked_ms if turn.parking is not None else turn.began_ms or turn.queued_ms


def _max_turns(spec: SessionSpec) -> int | None:
    limit = spec.stop.turns_left(Totals())
    return None if limit is None or limit >= _FAR_LIMIT else limit


def _objects(value: object) -> Iterable[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def error_of_event(text: str, at_ms: int) -> LastError | None:
    """Return the failure that a MAP event records; None: it records none."""
    if '"MAPTurnCompleted"' not in text:
        return None
    try:
        payload = json.loads(text).get("payload") or {}
        result = payload.get("result") or {}
        message = str(result.get("error") or "failed")
        has_failed = result.get("outcome") == "failed" or bool(result.get("error"))
    except (ValueError, AttributeError):
        return None
    if not has_failed:
        return None
    turn = payload.get("turn_number")
    return LastError(
        at_ms=at_ms,
        turn=turn if isinstance(turn, int) else None,
        participant=str(payload.get("participant_id") or "") or None,
        text=message,
    )
