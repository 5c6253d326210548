"""Pages of tasks, conversations and their messages.

A cursor is a position; for conversations also an instant. Conversations are listed by their last activity,
which changes while a caller reads pages. So their cursor contains the newest message at the start of the
listing: later messages cannot move a conversation from an unread page to a read page, and none is listed
twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, case, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from ...archive.results import ResultPage, decode_cursor, encode_cursor
from ...archive.tables import DIALOG, MESSAGE
from ..values.conversation import (
    Conversation,
    ConversationMessage,
    ConversationSummary,
    NewMessage,
)
from ..values.task import Task, TaskStatus
from .tables import (
    CONVERSATION,
    MEMBER,
    TASK,
    TASK_PARTICIPANT,
    conversation_from_row,
    message_from_row,
    summary_from_row,
    task_from_row,
)


class WorkspaceQueries:
    """Read queries of tasks and conversations. The caller checks the limits."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._execute = connection.execute

    # -- one --------------------------------------------------------------------------------

    def takes_part(self, task_id: str, agent: str) -> bool:
        """Return whether an agent is admitted to a task, or manages it."""
        return (
            self._execute(select(TASK.c.id).where(TASK.c.id == task_id, _involves_agent(agent))).first()
            is not None
        )

    def task(self, task_id: str) -> Task | None:
        """Return a task; None: it does not exist."""
        row = self._execute(select(TASK).where(TASK.c.id == task_id)).one_or_none()
        return None if row is None else task_from_row(row, self._admitted([task_id])[task_id])

    def conversation(self, conversation_id: str) -> Conversation | None:
        """Return a conversation; None: it does not exist."""
        query = (
            select(CONVERSATION, DIALOG.c.status)
            .join(DIALOG, DIALOG.c.conversation == CONVERSATION.c.id)
            .where(CONVERSATION.c.id == conversation_id)
        )
        row = self._execute(query).one_or_none()
        return None if row is None else conversation_from_row(row, self._members([row.id])[row.id])

    def count_unread(self, conversation_id: str, agent: str) -> int:
        """Return the number of messages of others after the read position of an agent."""
        return self._unread(agent, [conversation_id])[conversation_id]

    def count_overdue_tasks(self, *, before_ms: int) -> int:
        """Return the number of tasks whose verdict was due before a time."""
        late = (TASK.c.status == TaskStatus.WAITING, TASK.c.decide_by_ms < before_ms)
        return self._execute(select(func.count()).select_from(TASK).where(*late)).scalar_one()

    # -- many -------------------------------------------------------------------------------

    def tasks(self, agent: str, *, after: str | None, limit: int) -> ResultPage[Task]:
        """Return the tasks that an agent takes part in or manages, newest first."""
        query = select(TASK).where(_involves_agent(agent))
        if after is not None:
            query = query.where(_after_row(TASK.c.created_ms, TASK.c.id, *decode_cursor(after, int, str)))
        query = query.order_by(TASK.c.created_ms.desc(), TASK.c.id)
        rows, more = self._fetch_page(query, limit)
        admitted = self._admitted([row.id for row in rows])
        cursor = encode_cursor(rows[-1].created_ms, rows[-1].id) if more else None
        return ResultPage(tuple(task_from_row(row, admitted[row.id]) for row in rows), cursor)

    def conversations(
        self, agent: str, *, task_id: str | None, archived: bool | None, after: str | None, limit: int
    ) -> ResultPage[ConversationSummary]:
        """Return the conversations of an agent, by last activity, then by id."""
        as_of, *position = [self._newest_message()] if after is None else decode_cursor(after, int, int, str)
        active = _active_ms(as_of).label("active_ms")
        mine = and_(
            MEMBER.c.conversation == CONVERSATION.c.id, MEMBER.c.agent == agent, MEMBER.c.left_ms.is_(None)
        )
        query = select(CONVERSATION, active).join(MEMBER, mine)
        if task_id is not None:
            query = query.where(CONVERSATION.c.task == task_id)
        if archived is not None:
            is_set = CONVERSATION.c.archived_ms.is_not(None)
            query = query.where(is_set if archived else ~is_set)
        candidates = query.subquery()
        listed = select(candidates).order_by(candidates.c.active_ms.desc(), candidates.c.id)
        if position:
            listed = listed.where(_after_row(candidates.c.active_ms, candidates.c.id, *position))
        rows, more = self._fetch_page(listed, limit)
        ids = [row.id for row in rows]
        members, unread = self._members(ids), self._unread(agent, ids)
        cursor = encode_cursor(as_of, rows[-1].active_ms, rows[-1].id) if more else None
        return ResultPage(
            tuple(summary_from_row(row, members[row.id], unread=unread[row.id]) for row in rows), cursor
        )

    def history(
        self, conversation_id: str, *, before: str | None, limit: int
    ) -> ResultPage[ConversationMessage]:
        """Return the newest messages (before a cursor), oldest first; the next cursor leads to older messages."""
        query = select(MESSAGE).where(MESSAGE.c.conversation == conversation_id)
        if before is not None:
            query = query.where(MESSAGE.c.seq < decode_cursor(before, int)[0])
        rows, more = self._fetch_page(query.order_by(MESSAGE.c.seq.desc()), limit)
        cursor = encode_cursor(rows[-1].seq) if more else None
        return ResultPage(tuple(map(message_from_row, reversed(rows))), cursor)

    def new_messages(self, agent: str, *, after: str | None, limit: int) -> ResultPage[NewMessage]:
        """Return messages of others in conversations of an agent after a cursor, in the order of arrival."""
        (last,) = (0,) if after is None else decode_cursor(after, int)
        mine = and_(
            MEMBER.c.conversation == MESSAGE.c.conversation,
            MEMBER.c.agent == agent,
            MEMBER.c.left_ms.is_(None),
        )
        of_others = or_(MESSAGE.c.speaker.is_(None), MESSAGE.c.speaker != agent)
        query = (
            select(MESSAGE).join(MEMBER, mine).where(MESSAGE.c.id > last, of_others).order_by(MESSAGE.c.id)
        )
        rows = self._execute(query.limit(limit)).all()
        messages = tuple(NewMessage(row.conversation, message_from_row(row)) for row in rows)
        return ResultPage(messages, encode_cursor(rows[-1].id if rows else last))

    # -- within -----------------------------------------------------------------------------

    def _fetch_page(self, query: Any, limit: int) -> tuple[Sequence[Row[Any]], bool]:
        """Return up to `limit` rows, and whether more follow."""
        rows = self._execute(query.limit(limit + 1)).all()
        return rows[:limit], len(rows) > limit

    def _newest_message(self) -> int:
        return int(self._execute(select(func.coalesce(func.max(MESSAGE.c.id), 0))).scalar_one())

    def _admitted(self, ids: Sequence[str]) -> dict[str, list[str]]:
        query = select(TASK_PARTICIPANT.c.task, TASK_PARTICIPANT.c.agent)
        return _group_agents(ids, self._execute(query.where(TASK_PARTICIPANT.c.task.in_(ids))))

    def _members(self, ids: Sequence[str]) -> dict[str, list[str]]:
        query = select(MEMBER.c.conversation, MEMBER.c.agent)
        theirs = (MEMBER.c.conversation.in_(ids), MEMBER.c.left_ms.is_(None))
        return _group_agents(ids, self._execute(query.where(*theirs)))

    def _unread(self, agent: str, ids: Sequence[str]) -> dict[str, int]:
        # All messages after the position, minus the reader's own: after a long absence most messages are from
        # others.
        unread_rows = (MESSAGE.c.conversation == MEMBER.c.conversation, MESSAGE.c.seq > MEMBER.c.read_seq)
        own = select(func.count()).where(*unread_rows, MESSAGE.c.speaker == agent).scalar_subquery()
        query = (
            select(MEMBER.c.conversation, CONVERSATION.c.messages - MEMBER.c.read_seq - own)
            .join(CONVERSATION, CONVERSATION.c.id == MEMBER.c.conversation)
            .where(MEMBER.c.agent == agent, MEMBER.c.conversation.in_(ids))
        )
        return {row[0]: row[1] for row in self._execute(query)}


def _involves_agent(agent: str) -> ColumnElement[bool]:
    admitted = select(TASK_PARTICIPANT.c.task).where(TASK_PARTICIPANT.c.agent == agent)
    return or_(TASK.c.task_manager == agent, TASK.c.id.in_(admitted))


def _after_row(
    time: ColumnElement[int], name: ColumnElement[str], at_ms: int, last: str
) -> ColumnElement[bool]:
    """Return the condition for rows after a given row, in a list by time (newest first), then by id."""
    return or_(time < at_ms, and_(time == at_ms, name > last))


def _active_ms(as_of: int) -> ColumnElement[int]:
    """Return the expression for the last activity, by messages up to row `as_of`."""
    seen = (MESSAGE.c.conversation == CONVERSATION.c.id, MESSAGE.c.id <= as_of)
    newest = select(MESSAGE.c.at_ms).where(*seen).order_by(MESSAGE.c.seq.desc()).limit(1)
    then = newest.correlate(CONVERSATION).scalar_subquery()
    has_moved = CONVERSATION.c.last_row > as_of
    return func.coalesce(case((has_moved, then), else_=CONVERSATION.c.last_ms), CONVERSATION.c.created_ms)


def _group_agents(ids: Iterable[str], pairs: Iterable[Any]) -> dict[str, list[str]]:
    agents_by_id: dict[str, list[str]] = {row_id: [] for row_id in ids}
    for key, agent in pairs:
        agents_by_id[key].append(agent)
    return agents_by_id
