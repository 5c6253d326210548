"""Search in archived sessions: counts by status, pages in any order, groups.

Sorting reads narrow rows; the documents, which are most of a row, are read for the sessions of one page only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CTE, ColumnElement, Executable, FromClause, Select, and_, case, func, or_, select, text

from ...models.sessions.grouping import AgentCosts, SessionGroup
from ...models.sessions.query import SessionQuery
from ...models.text.json_text import parse_json
from ..engine import Database
from ..results import ListedSession
from ..tables import AGENT, COLLAB, COLLAB_EVENT, TAG, TURN
from .conditions import HAS_FAILED, SHOWN, SessionConditions
from .listed import LISTED, listed_session


@dataclass(frozen=True, slots=True)
class SortedSession:
    """A session in an order, without its documents."""

    #: Value by which it is sorted, and its id.
    key: tuple[Any, str]
    #: Its row in `collab`.
    row: int


@dataclass(frozen=True, slots=True)
class TurnFailure:
    """The newest failed turn of a session."""

    turn: int
    participant: str | None
    text: str
    at_ms: int


class SessionSearch:
    """Search of one query. Every method may raise ArchiveUnavailable.

    Args:
        database: The archive.
        query: The query. `attention` is not read: archived sessions have none.
        now_ms: Time from which ages count, in milliseconds since the epoch.
        without: Ids of sessions that are left out, because they are in memory.
    """

    def __init__(
        self, database: Database, query: SessionQuery, *, now_ms: int, without: Collection[str] = ()
    ) -> None:
        dialect = "sqlite" if database.is_sqlite else "postgresql"
        self._database = database
        self._query = query
        self._conditions = SessionConditions(query, now_ms=now_ms, dialect=dialect)
        self._filters = [*self._conditions.filters()]
        if without:
            self._filters.append(COLLAB.c.collab_id.not_in(_values(without, is_sqlite=database.is_sqlite)))

    def counts(self) -> dict[str, int]:
        """Return the number of sessions by status as shown, of all statuses."""
        query = select(SHOWN, func.count()).select_from(COLLAB).where(*self._filters).group_by(SHOWN)
        return {row[0]: row[1] for row in self._fetch(query)}

    def keys(self, *, offset: int, limit: int) -> list[SortedSession]:
        """Return sessions in the order of the query."""
        order, session_id = self._conditions.order(), self._conditions.exact(COLLAB.c.collab_id)
        columns: list[ColumnElement[Any]] = [order, session_id, COLLAB.c.id]
        if self._query.is_descending:
            columns = [value.desc() for value in columns]
        query = select(order, COLLAB.c.collab_id, COLLAB.c.id).where(*self._chosen()).order_by(*columns)
        return [
            SortedSession((row[0], row[1]), row[2]) for row in self._fetch(query.offset(offset).limit(limit))
        ]

    def sessions(self, rows: Sequence[int]) -> dict[int, ListedSession]:
        """Return sessions by their row in `collab`."""
        if not rows:
            return {}
        query, actors = select(*LISTED).where(COLLAB.c.id.in_(rows)), self._actors(rows)
        return {row.id: listed_session(row, actor=actors.get(row.id)) for row in self._fetch(query)}

    def _actors(self, rows: Sequence[int]) -> dict[int, str]:
        """Return who cancelled these rows, of those that a person has cancelled."""
        is_end = and_(COLLAB.c.id == COLLAB_EVENT.c.session, COLLAB_EVENT.c.at_ms >= COLLAB.c.ended_ms)
        query = (
            select(COLLAB.c.id, COLLAB_EVENT.c.body)
            .join(COLLAB_EVENT, is_end)
            .where(COLLAB.c.id.in_(rows), COLLAB_EVENT.c.event_type == "session.cancelled")
        )
        data = {row: parse_json(body).get("data") or {} for row, body in self._fetch(query)}
        return {row: str(fields["by"]) for row, fields in data.items() if "by" in fields}

    def failures(self, rows: Sequence[int]) -> dict[int, TurnFailure]:
        """Return the newest failed turn of each of these rows that has one."""
        if not rows:
            return {}
        columns = (TURN.c.session, TURN.c.number, TURN.c.participant, TURN.c.error, TURN.c.ended_ms)
        query = select(*columns).where(TURN.c.session.in_(rows), TURN.c.error.is_not(None))
        # The newest one replaces those before it.
        ordered = self._fetch(query.order_by(TURN.c.ended_ms, TURN.c.number))
        return {
            session: TurnFailure(turn, who, error, at_ms or 0) for session, turn, who, error, at_ms in ordered
        }

    def groups(self) -> list[SessionGroup]:
        """Return the groups of the query: sessions that match, by agent, tenant, tag or the detail of their failure."""
        columns = (COLLAB.c.id, COLLAB.c.tenant, COLLAB.c.reason, COLLAB.c.detail, COLLAB.c.cost_micros)
        matching = select(*columns, HAS_FAILED.label("failed")).where(*self._chosen()).cte("matching")
        # Otherwise SQLite reads agents or tags first, and evaluates the filters for each of them.
        matching = matching.prefix_with("MATERIALIZED")
        name, source, failed = self._grouping(matching)
        each = (
            select(
                name.label("name"),
                matching.c.id,
                func.max(case((failed, 1), else_=0)).label("failed"),
                matching.c.cost_micros,
            )
            .select_from(source)
            .where(name.is_not(None))
            .group_by(name, matching.c.id, matching.c.cost_micros)
            .subquery()
        )
        query = select(each.c.name, func.count(), func.sum(each.c.failed), func.sum(each.c.cost_micros))
        rows = self._fetch(query.group_by(each.c.name))
        if self._query.group != "agent":
            return [SessionGroup(row[0], row[1], int(row[2]), int(row[3])) for row in rows]
        spent = select(AGENT.c.agent, func.sum(TURN.c.cost_micros)).group_by(AGENT.c.agent)
        costs = dict(tuple(row) for row in self._fetch(_with_turns(spent, matching)))
        return [SessionGroup(row[0], row[1], int(row[2]), int(costs.get(row[0], 0))) for row in rows]

    def agent_costs(self, session_ids: Collection[str]) -> AgentCosts:
        """Return the cost of each agent's turns in these sessions; empty if the query does not group by agent."""
        if self._query.group != "agent" or not session_ids:
            return {}
        columns = (COLLAB.c.collab_id, COLLAB.c.opened_ms, AGENT.c.agent)
        query = select(*columns, func.sum(TURN.c.cost_micros)).group_by(*columns)
        is_wanted = COLLAB.c.collab_id.in_(_values(session_ids, is_sqlite=self._database.is_sqlite))
        costs: dict[tuple[str, int], dict[str, int]] = {}
        for session_id, opened_ms, agent, cost in self._fetch(_with_turns(query.where(is_wanted), COLLAB)):
            costs.setdefault((session_id, opened_ms), {})[agent] = int(cost)
        return costs

    def _grouping(self, matching: CTE) -> tuple[ColumnElement[Any], Any, ColumnElement[bool]]:
        """Return the column to group by, the tables, and the condition that a session counts as failed."""
        failed = matching.c.failed
        match self._query.group:
            case "tenant":
                return matching.c.tenant, matching, failed
            case "tag":
                return TAG.c.tag, matching.join(TAG, TAG.c.session == matching.c.id), failed
            case "agent":
                start = AGENT.c.participant.concat(": ")
                # The detail of a failure begins with the participant; other failures are of all agents.
                is_mine = func.substr(matching.c.detail, 1, func.length(start)) == start
                source = matching.join(AGENT, AGENT.c.session == matching.c.id)
                return AGENT.c.agent, source, and_(failed, or_(matching.c.reason != "failed", is_mine))
            case _:
                return case((failed, matching.c.detail)), matching, failed

    def _chosen(self) -> list[ColumnElement[bool]]:
        return [*self._filters, *self._conditions.has_status()]

    def _fetch(self, query: Executable) -> Sequence[Any]:
        with self._database.reading() as connection:
            return connection.execute(query).all()


def _with_turns(query: Select[Any], sessions: FromClause) -> Select[Any]:
    """Return a query of sessions with their turns, each with the agent of its participant."""
    is_speaker = and_(AGENT.c.session == TURN.c.session, AGENT.c.participant == TURN.c.participant)
    source = sessions.join(TURN, TURN.c.session == sessions.c.id).join(AGENT, is_speaker)
    return query.select_from(source)


def _values(texts: Iterable[str], *, is_sqlite: bool) -> Select[Any]:
    """Return a query of these texts, with one parameter for all: their number is not limited."""
    names = sorted(texts)
    if is_sqlite:
        return select(func.json_each(json.dumps(names)).table_valued("value").c.value)
    return select(func.json_array_elements_text(text("CAST(:ids AS json)").bindparams(ids=json.dumps(names))))
