"""Rows of `symposia list`: read from Redis and the archive, and shown as a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from typing import Any

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...archive.results import ListedSession, SessionFilter
from ...client import Client
from ...client.client import installation_of
from ...jobs.archived import parent_of, state_of
from ...jobs.collab import CollabJob
from ...jobs.conditions import NO_CONDITION, Condition, Roster
from ...jobs.last_error import LastError
from ...jobs.session_condition import ConditionReader
from ...models.errors import RedisUnavailable, SessionNotFound
from ...models.protocol.collab import Collab
from ...models.sessions.query import ANY_QUERY, SessionQuery, sort_value
from ...models.sessions.shown_status import ShownStatus, shown_status
from ...models.text.ids import timestamp_from_ms
from ...models.text.json_text import parse_json
from ...state.redis.connect import check_reachable, connect
from ...state.redis.readers import Unreadable, read_record
from ...state.sessions.archiving import is_live
from ...state.sessions.records import SessionState
from ..common.arguments import relative_age, shortest_ids
from ..common.dialog_lines import hanging
from ..common.screen import console, plain_table, printable
from .render import STATUS_STYLE, outcome

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

    def cells(self, depth: int) -> tuple[str | Text, ...]:
        """Return the cells after the id and the opening time; `depth` is that in the tree of sessions."""
        usage, badge = self.state.usage, self.condition.badge
        shown = badge or outcome(self.state.status, self.state.reason)
        return (
            self.collab.mode.value,
            _cut(shown, style="yellow" if badge else STATUS_STYLE.get(self.shown, "")),
            str(self.state.closed),
            str(usage.tokens),
            f"{usage.cost_usd:.2f}" if usage.cost_micros else "",
            _cut(_indented(depth, printable(self.collab.title))),
        )

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

    def cells(self, _depth: int) -> tuple[str | Text, ...]:
        """Return the cells, as those of a `SessionListRow`."""
        return "", _cut("unreadable", style="red"), "", "", "", _cut(printable(self.error))

    def to_json(self) -> dict[str, JsonValue]:
        """Return the row as JSON data."""
        opened_at = timestamp_from_ms(self.opened_ms)
        return {"id": self.id, "status": "unreadable", "opened_at": opened_at, "error": self.error}


AnyRow = SessionListRow | UnreadableRow


def attention_lines(screen: Console, rows: Sequence[AnyRow]) -> Iterator[Text]:
    """Yield for each session that does not move why, and what happens next."""
    ids = shortest_ids([row.id for row in rows])
    for row in rows:
        if isinstance(row, SessionListRow) and (why := row.condition.sentence(row.state.now_ms)):
            head = Text.assemble((ids[row.id], "bold"), f" {row.condition.badge}: ", style="yellow")
            yield hanging(screen, head, Text(printable(why)))


def _in_tree_order(sessions: Sequence[AnyRow]) -> Iterator[tuple[int, AnyRow]]:
    """Yield the sessions with their depth: sub-sessions follow their parent, if it is among them, oldest first."""
    ids = {session.id for session in sessions}
    below: dict[str | None, list[AnyRow]] = {}
    for session in sessions:
        below.setdefault(session.parent if session.parent in ids else None, []).append(session)

    def visit(parent: str, depth: int) -> Iterator[tuple[int, AnyRow]]:
        for session in reversed(below.get(parent, ())):
            yield depth, session
            yield from visit(session.id, depth + 1)

    for session in below.get(None, ()):
        yield 0, session
        yield from visit(session.id, 1)


def session_table(sessions: Sequence[AnyRow], *, in_tree: bool = True) -> Table:
    """Return a table of sessions, one line each; a narrow terminal cuts status and title, never an id.

    With `in_tree`, sub-sessions follow their parent.
    """
    ids = shortest_ids([session.id for session in sessions])
    numbers = ("turns", "tokens", "cost $")
    table = plain_table("id", "opened", "mode", "status", *numbers, "title", right=numbers)
    for column in table.columns:
        column.no_wrap = column.header not in ("status", "title")
    for depth, session in _in_tree_order(sessions) if in_tree else ((0, row) for row in sessions):
        table.add_row(ids[session.id], relative_age(session.opened_ms), *session.cells(depth))
    return table


def _indented(depth: int, title: str) -> str:
    return f"{'  ' * (depth - 1)}↳ {title}" if depth else title


def _cut(text: str, *, style: str = "") -> Text:
    """Return text on one line, cut if the column is too narrow."""
    indent = " " * (len(text) - len(text.lstrip()))
    return Text(indent + " ".join(text.split()), style=style, no_wrap=True, overflow="ellipsis")


def list_rows(
    client: Client,
    query: SessionQuery,
    *,
    participant: str | None = None,
    live: Iterable[AnyRow] | None = None,
) -> Iterator[AnyRow]:
    """Yield live and archived sessions in the order of the query; without Redis, only archived ones that have ended.

    Newest first, which is the order `-opened`, they are read as needed; in another order all of them are read.

    Args:
        client: The client.
        query: Filters and order.
        participant: Only sessions with this participant id.
        live: All live sessions, as of `all_live`; None: they are read.
    """
    wanted = SessionFilter(participant=participant, query=query)
    try:
        redis = connect(client.redis_url)
        check_reachable(redis, client.redis_url)
    except RedisUnavailable as error:
        if client.archived() is None:
            raise
        console(stderr=True).print(
            f"Redis is unavailable, listing only archived sessions that have ended: {error}"
        )
        rows = _archived(client, wanted, is_live=lambda session: session.fields.get("ended_ms") is None)
    else:
        archived = _archived(
            client, wanted, is_live=lambda session: is_live(redis, session.session_id, session.opened_ms)
        )
        matching = live_rows(all_live(client) if live is None else live, query, participant=participant)
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


def all_live(client: Client) -> Iterator[AnyRow]:
    """Yield all live sessions, newest first."""
    installation, stuck_ms = installation_of(client), int(client.settings.stuck_after_s * 1000)
    conditions = ConditionReader(installation.redis, stuck_ms=stuck_ms)
    for job, listed_ms in installation.sessions.iterate_live():
        try:
            row = (
                job
                if isinstance(job, Unreadable)
                else read_record("session", job.id, partial(_row, job, conditions))
            )
        except SessionNotFound:  # it has expired since
            continue
        yield (row if isinstance(row, SessionListRow) else UnreadableRow(row.name, listed_ms, row.why))


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
