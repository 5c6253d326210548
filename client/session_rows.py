"""Lists of live and archived sessions: rows that are read from Redis and the archive, filtered and in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush, merge
from itertools import islice
from typing import Any

from pydantic import JsonValue

from ..archive.results import ListedSession, ResultPage, SessionFilter, decode_cursor, encode_cursor
from ..jobs.archived import parent_of, state_of
from ..jobs.collab import CollabJob
from ..jobs.conditions import NO_CONDITION, Condition, Roster
from ..jobs.last_error import LastError
from ..jobs.session_condition import ConditionReader
from ..models.errors import RedisUnavailable, SessionNotFound
from ..models.protocol.collab import Collab
from ..models.sessions.query import ANY_QUERY, SessionQuery, sort_value
from ..models.sessions.shown_status import ShownStatus, shown_status
from ..models.text.ids import timestamp_from_ms
from ..models.text.json_text import parse_json
from ..state.redis.connect import check_reachable
from ..state.redis.readers import Unreadable, read_record
from ..state.sessions.archiving import is_live
from ..state.sessions.records import SessionState
from .client import Client, installation_of

#: The order in which sessions are stored.
NEWEST_FIRST = "-opened"
#: Sessions per page that is read from the archive.
_PAGE = 100


@dataclass(frozen=True, slots=True)
class SessionListRow:
    """Row of a list of sessions."""

    collab: Collab
    state: SessionState
    #: Id of the session whose turn it answers; None: it is no sub-session.
    parent: str | None = None
    #: Id of the thread; None: the session is the first of its thread, or in none.
    thread_id: str | None = None
    tenant: str | None = None
    #: User whose memory it uses.
    user: str | None = None
    #: Participant id -> agent.
    agents: Mapping[str, str] = field(default_factory=dict)
    is_archived: bool = False
    #: What it does, or why it does not move.
    condition: Condition = NO_CONDITION
    #: Its newest failed turn, if it has not ended.
    error: LastError | None = None

    @property
    def id(self) -> str:
        """Id of the session."""
        return self.collab.collab_id

    @property
    def opened_ms(self) -> int:
        """Opening time, in milliseconds since the epoch."""
        return self.state.opened_ms

    @property
    def shown(self) -> ShownStatus:
        """Status as people see it."""
        return shown_status(self.state.status.value, self.state.reason)

    def searched(self) -> dict[str, Any]:
        """Return what a `SessionQuery` reads."""
        state, collab = self.state, self.collab
        return {
            "id": self.id,
            "title": collab.title,
            "mode": collab.mode.value,
            "shown": self.shown.value,
            "reason": state.reason,
            "detail": state.detail,
            "attention": self.condition.attention,
            "error": self.error,
            "tenant": self.tenant,
            "user": self.user,
            "tags": collab.meta.tags or (),
            "agents": [
                {"participant": who.participant_id, "name": who.display_name or "", "agent": agent}
                for who in collab.participants
                for agent in (self.agents.get(who.participant_id),)
            ],
            "thread": self.thread_id,
            "turns": state.closed,
            "tokens": state.usage.tokens,
            "cost_micros": state.usage.cost_micros,
            "opened_ms": state.opened_ms,
            "updated_ms": state.updated_ms,
            "ended_ms": state.ended_ms,
            "archived": self.is_archived,
        }

    def to_json(self) -> dict[str, JsonValue]:
        """Return the row as JSON data."""
        state, ended_ms = self.state, self.state.ended_ms
        return {
            "id": self.collab.collab_id,
            "thread_id": self.thread_id,
            "title": self.collab.title,
            "mode": self.collab.mode.value,
            "status": state.status.value,
            "shown": self.shown.value,
            "reason": state.reason,
            "detail": state.detail,
            **self.condition.to_json(),
            "tenant": self.tenant,
            "user": self.user,
            "tags": list(self.collab.meta.tags or ()),
            "agents": dict(self.agents),
            "awaited_agents": list(state.awaited_agents),
            "turns": state.closed,
            "messages": state.messages,
            "usage": state.usage.to_json_data(),
            "opened_at": timestamp_from_ms(state.opened_ms),
            "ended_at": None if ended_ms is None else timestamp_from_ms(ended_ms),
            "parent": self.parent,
        }


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """Row of a session whose stored form cannot be read."""

    id: str
    #: Time at which it was listed, in milliseconds since the epoch.
    opened_ms: int
    error: str
    parent: None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the row as JSON data."""
        opened_at = timestamp_from_ms(self.opened_ms)
        return {"id": self.id, "status": "unreadable", "opened_at": opened_at, "error": self.error}


AnyRow = SessionListRow | UnreadableRow


def list_rows(
    client: Client,
    query: SessionQuery,
    *,
    participant: str | None = None,
    live: Iterable[AnyRow] | None = None,
    before_ms: int | None = None,
    on_outage: Callable[[RedisUnavailable], object] = lambda _: None,
) -> Iterator[AnyRow]:
    """Yield live and archived sessions in the order of the query; without Redis, only archived ones that have ended.

    Newest first, which is the order `-opened`, they are read as needed; in another order all of them are read.

    Args:
        client: The client.
        query: Filters and order.
        participant: Only sessions with this participant id.
        live: All live sessions, as of `all_live`; None: they are read.
        before_ms: Only sessions opened before this time, in milliseconds since the epoch. None: all.
        on_outage: Called if Redis does not answer.
    """
    wanted = SessionFilter(participant=participant, query=query, until_ms=before_ms)
    try:
        redis = installation_of(client).redis
        check_reachable(redis, client.redis_url)
    except RedisUnavailable as error:
        if client.archived() is None:
            raise
        on_outage(error)
        rows = _archived(client, wanted, is_live=lambda session: session.fields.get("ended_ms") is None)
    else:
        archived = _archived(
            client, wanted, is_live=lambda session: is_live(redis, session.session_id, session.opened_ms)
        )
        matching = live_rows(
            all_live(client, before_ms=before_ms) if live is None else live, query, participant=participant
        )
        rows = merge(matching, archived, key=lambda row: row.opened_ms, reverse=True)
    return rows if query.sort == NEWEST_FIRST else iter(_sorted(rows, query))


def _sorted(rows: Iterator[AnyRow], query: SessionQuery) -> list[AnyRow]:
    """Return rows in the order of a query; unreadable ones are first."""
    now_ms = round(time.time() * 1000)
    ordered = list(rows)
    readable = [row for row in ordered if isinstance(row, SessionListRow)]
    readable.sort(key=lambda row: sort_value(row.searched(), query, now_ms), reverse=query.is_descending)
    return [*(row for row in ordered if isinstance(row, UnreadableRow)), *readable]


def live_rows(
    rows: Iterable[AnyRow], query: SessionQuery, *, participant: str | None = None
) -> Iterator[AnyRow]:
    """Yield those of all live sessions that match, newest first; unreadable ones if there is no filter."""
    now_ms = round(time.time() * 1000)
    others = query.changed(sort=ANY_QUERY.sort, attention=())
    has_unreadable = participant is None and others == ANY_QUERY and query.attention in ((), ("unreadable",))
    for row in rows:
        if isinstance(row, SessionListRow):
            has_participant = participant in (None, *(who.participant_id for who in row.collab.participants))
            if has_participant and query.matches(row.searched(), now_ms=now_ms):
                yield row
        elif has_unreadable:
            yield row


def all_live(client: Client, *, before_ms: int | None = None) -> Iterator[AnyRow]:
    """Yield all live sessions, newest first; with `before_ms`, only those that were opened before this time."""
    installation, stuck_ms = installation_of(client), int(client.settings.stuck_after_s * 1000)
    conditions = ConditionReader(installation.redis, stuck_ms=stuck_ms)
    for job, listed_ms in installation.sessions.iterate_live(before_ms=before_ms):
        try:
            row = (
                job
                if isinstance(job, Unreadable)
                else read_record("session", job.id, partial(_row, job, conditions))
            )
        except SessionNotFound:  # it has expired since
            continue
        found = row if isinstance(row, SessionListRow) else UnreadableRow(row.name, listed_ms, row.why)
        if before_ms is None or found.opened_ms < before_ms:
            yield found


def _row(job: CollabJob, conditions: ConditionReader) -> SessionListRow:
    spec, collab, state = job.spec, job.collab(), job.state()
    condition, error = conditions.read(state, Roster.of(collab, spec))
    row = SessionListRow(
        collab,
        state,
        job.parent.session_id if job.parent else None,
        spec.thread_id,
        spec.tenant,
        spec.memory.user_id if spec.memory else None,
        {name: binding.agent for name, binding in spec.agents.items()},
        condition=condition,
        error=error,
    )
    row.to_json()  # reads each field
    return row


def _archived(
    client: Client, wanted: SessionFilter, *, is_live: Callable[[ListedSession], bool]
) -> Iterator[AnyRow]:
    # Archived sessions need no attention.
    reader, cursor = None if wanted.query.attention else client.archived(), None
    while reader is not None:
        page = reader.page(wanted, after=cursor, limit=_PAGE)
        for session in page.items:
            if read_record("session", session.session_id, partial(is_live, session)) is False:
                row = read_record("archived session", session.session_id, partial(_archived_row, session))
                yield (
                    row
                    if isinstance(row, SessionListRow)
                    else UnreadableRow(row.name, session.opened_ms, row.why)
                )
        cursor = page.cursor
        if cursor is None:
            return


def _archived_row(session: ListedSession) -> SessionListRow:
    spec = parse_json(session.documents.spec)
    row = SessionListRow(
        Collab.model_validate_json(session.documents.collab),
        state_of(session.session_id, session.fields, {}),
        parent_of(spec),
        spec.get("thread_id"),
        spec.get("tenant"),
        (spec.get("memory") or {}).get("user_id"),
        {name: binding["agent"] for name, binding in (spec.get("agents") or {}).items()},
        is_archived=True,
    )
    row.to_json()  # reads each field
    return row


#: Milliseconds by which a session can be listed before it was opened.
_LISTED_BEFORE_MS = 60_000


def session_page(
    client: Client, query: SessionQuery, *, limit: int, after: str | None = None
) -> ResultPage[AnyRow]:
    """Return one page of the live and archived sessions that match, newest first.

    Args:
        client: The client.
        query: Filters; its order and page have no effect.
        limit: Maximum number of sessions.
        after: The `cursor` of the page before. None: the first page.

    Raises:
        InvalidInput: The cursor is not valid.
        RedisUnavailable: Redis does not answer, and there is no archive.
        ArchiveUnavailable: The archive does not answer.
    """
    last = None if after is None else tuple(decode_cursor(after, int, str))
    query = query.changed(sort=NEWEST_FIRST)
    rows = _in_order(list_rows(client, query, before_ms=None if last is None else last[0] + 1))
    later = (row for row in rows if last is None or _position(row) > (-last[0], last[1]))
    found = list(islice(later, limit + 1))
    page = found[:limit]
    is_last = len(found) <= limit
    return ResultPage(tuple(page), None if is_last else encode_cursor(page[-1].opened_ms, page[-1].id))


def _position(row: AnyRow) -> tuple[int, str]:
    return -row.opened_ms, row.id


def _in_order(rows: Iterable[AnyRow]) -> Iterator[AnyRow]:
    """Yield rows strictly newest first: live ones come in the order in which they were listed."""
    waiting: list[tuple[tuple[int, str], AnyRow]] = []
    for row in rows:
        while waiting and waiting[0][1].opened_ms > row.opened_ms + _LISTED_BEFORE_MS:
            yield heappop(waiting)[1]
        heappush(waiting, (_position(row), row))
    while waiting:
        yield heappop(waiting)[1]
