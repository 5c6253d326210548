"""The row of one session in the list of sessions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from ...jobs.last_error import LastError
from ...models.sessions.progress import LimitUse, Unit, estimated_end_ms, first_limit
from ...models.sessions.shown_status import UNFINISHED, ShownStatus, shown_status
from ...models.sessions.spec import SessionSpec
from ...models.sessions.stop_conditions import STOP_CONDITION, StopCondition
from ...state.redis.readers import converting_to_corrupt, read_object, read_stored
from ...state.sessions.progress import limits_of_session
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord


class Speaker(TypedDict):
    """A participant with a running or parked turn."""

    participant: str
    name: str
    turn: int
    state: str
    since_ms: int | None


class RowAgent(TypedDict):
    """A participant and its agent."""

    participant: str
    name: str
    #: Id of its role; empty: it has none.
    role: str
    #: None: it has none.
    agent: str | None


class RowLimit(TypedDict):
    """A limit of a session: `rounds`, `turns`, `items`, `tokens`, `cost_micros` or `seconds`."""

    unit: Unit
    used: float
    limit: float


class CollabRow(TypedDict):
    """One session. Times are in milliseconds since the epoch, costs in millionths of a US dollar."""

    id: str
    #: Id of the thread; None: the first session of its thread, or in none.
    thread: str | None
    title: str
    mode: str
    status: str
    #: Status as people see it: one of `ShownStatus`.
    shown: str
    reason: str | None
    detail: str | None
    #: Who suspended, resumed or cancelled it last; None: no person, or unknown.
    actor: str | None
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
    tenant: str | None
    #: User whose memory it uses.
    user: str | None
    tags: list[str]
    agents: list[RowAgent]
    #: Its limits, without safety caps.
    limits: list[RowLimit]
    #: The limit that is reached first at the rate so far; None: it has none.
    first_limit: RowLimit | None
    #: Estimated end of an active session; None: unknown.
    ends_about_ms: int | None
    #: Why it failed, or the newest failure of one that has not ended.
    error: LastError | None
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
    thread: str | None = None
    tenant: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    agents: tuple[RowAgent, ...] = ()
    stop: StopCondition | None = None

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
        _ = read_stored(SessionSpec, spec, session_id=session_id, part="spec")
        return replace(cls.read_archived(session_id, collab, spec), edition=edition)

    @classmethod
    def read_archived(cls, session_id: str, collab: str, spec: str) -> CollabFacts:
        """Return the facts of a session that has ended.

        Only a part of the spec is read: a page of archived sessions has a hundred of them.

        Args:
            session_id: The session.
            collab: The collab as JSON.
            spec: The spec as JSON.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        data = read_object(collab, session_id=session_id, part="collab")
        options = read_object(spec, session_id=session_id, part="spec")
        with converting_to_corrupt(session_id, "spec"):
            stop = STOP_CONDITION.validate_python(options["stop"]) if "stop" in options else None
        names, roles = {}, {}
        for participant in _objects(data.get("participants")):
            name = str(participant.get("participant_id"))
            roles[name] = str(participant.get("role_id") or "")
            names[name] = str(participant.get("display_name") or name)
        bindings = _object(options.get("agents"))
        tags = _object(data.get("meta")).get("tags")
        return cls(
            0,
            str(data.get("title") or ""),
            str(data.get("mode") or ""),
            names,
            thread=_text(options.get("thread_id")),
            tenant=_text(options.get("tenant")),
            user=_text(_object(options.get("memory")).get("user_id")),
            tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
            agents=tuple(
                RowAgent(
                    participant=who,
                    name=name,
                    role=roles[who],
                    agent=_text(_object(bindings.get(who)).get("agent")),
                )
                for who, name in names.items()
            ),
            stop=stop,
        )


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
    shown = shown_status(state.status.value, state.reason)
    limits = limits_of_session(state, facts.stop, facts.mode)
    first = first_limit(limits)
    return CollabRow(
        id=state.session_id,
        thread=facts.thread,
        title=facts.title,
        mode=facts.mode,
        status=state.status.value,
        shown=shown.value,
        reason=state.reason,
        detail=state.detail,
        actor=state.actor,
        attention=None,
        attention_text=None,
        attention_next=None,
        attention_since_ms=None,
        attention_due_ms=None,
        turns=state.closed,
        max_turns=next((int(use.limit) for use in limits if use.unit == "turns"), None),
        rounds=state.rounds,
        messages=state.messages,
        tokens=usage.tokens,
        cost_micros=usage.cost_micros,
        speakers=[] if state.is_final else _speakers(state, facts),
        participants=len(facts.names),
        tenant=facts.tenant,
        user=facts.user,
        tags=list(facts.tags),
        agents=list(facts.agents),
        limits=[*map(_row_limit, limits)],
        first_limit=None if first is None else _row_limit(first),
        ends_about_ms=_ends_about_ms(state, limits) if shown is ShownStatus.ACTIVE else None,
        error=_error(state, shown, last_error),
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


def _row_limit(use: LimitUse) -> RowLimit:
    return RowLimit(unit=use.unit, used=use.used, limit=use.limit)


def _ends_about_ms(state: SessionState, limits: Sequence[LimitUse]) -> int | None:
    """Return the estimated end; None: unknown, as long as a turn waits for an answer."""
    if any(turn.parking is not None for turn in state.open_turns()):
        return None
    return estimated_end_ms(limits, started_ms=state.started_ms, now_ms=state.now_ms)


def _error(state: SessionState, shown: ShownStatus, last: LastError | None) -> LastError | None:
    if shown in UNFINISHED:
        return last
    if shown is not ShownStatus.FAILED:
        return None
    if last is not None and state.reason == "failed":
        return last
    return LastError(at_ms=state.ended_ms or 0, turn=None, participant=None, text=state.detail or "failed")


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _objects(value: object) -> Iterable[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
