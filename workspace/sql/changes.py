"""Changes to tasks and conversations in one transaction. The caller checks the permissions.

To avoid deadlocks, rows are always locked in the same order: a task, then its conversations by id. A
transaction that only adds messages locks only their conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from ...archive.engine import Database, insert_into, storable_text
from ...archive.tables import DIALOG, MESSAGE
from ...models.protocol.dialog import DialogStatus
from ..values.conversation import Conversation, IncomingMessage, Metadata
from ..values.task import Task, TaskRequest, TaskStatus
from .listing import WorkspaceQueries
from .messages import append_messages, lock_conversation_row
from .tables import (
    CONVERSATION,
    MEMBER,
    TASK,
    TASK_PARTICIPANT,
    tags_of,
    task_from_row,
)

#: Status of the dialogs of an ended task.
_DIALOG_STATUS_AT_END = {TaskStatus.CLOSED: DialogStatus.COMPLETED, TaskStatus.FAILED: DialogStatus.CANCELLED}


class WorkspaceChanges(WorkspaceQueries):
    """The changes of one transaction, and its queries. Times are milliseconds since the epoch."""

    # -- tasks ------------------------------------------------------------------------------

    def add_task(self, request: TaskRequest, *, task_manager: str, now_ms: int, decide_by_ms: int) -> None:
        """Add a task that waits for its verdict, with all its participants admitted."""
        row = {
            "id": request.task_id,
            "app": storable_text(request.app),
            "task_manager": task_manager,
            "created_by": request.initiator,
            "status": TaskStatus.WAITING.value,
            "decide_by_ms": decide_by_ms,
            "created_ms": now_ms,
            "updated_ms": now_ms,
        }
        self._execute(insert(TASK), row)
        self.admit(request.task_id, (request.initiator, *request.invited), now_ms=now_ms)

    def lock_task(self, task_id: str) -> Task | None:
        """Return a task, locked for this transaction; None: it does not exist."""
        row = self._execute(select(TASK).where(TASK.c.id == task_id).with_for_update()).one_or_none()
        return None if row is None else task_from_row(row, self._admitted([task_id])[task_id])

    def status_of(self, task_id: str) -> TaskStatus:
        """Return the current status of a task, without locking it."""
        return TaskStatus(self._execute(select(TASK.c.status).where(TASK.c.id == task_id)).scalar_one())

    def overdue_tasks(self, *, before_ms: int, limit: int) -> list[str]:
        """Return the ids of tasks whose verdict was due before a time."""
        query = select(TASK.c.id).where(TASK.c.status == TaskStatus.WAITING, TASK.c.decide_by_ms < before_ms)
        return list(self._execute(query.order_by(TASK.c.decide_by_ms).limit(limit)).scalars())

    def activate(self, task_id: str, *, now_ms: int) -> None:
        """Activate a task that its task-manager accepted."""
        self._set_task(task_id, status=TaskStatus.ACTIVE, updated_ms=now_ms)

    def end_task(self, task_id: str, status: TaskStatus, *, now_ms: int, reason: str | None = None) -> None:
        """End a task, archive its conversations with one timestamp, and end their dialogs."""
        why = None if reason is None else storable_text(reason)
        self._set_task(task_id, status=status, reason=why, updated_ms=now_ms, ended_ms=now_ms)
        if self._lock_conversations(task_id):
            self._set_conversations(
                CONVERSATION.c.task == task_id,
                archived_ms=func.coalesce(CONVERSATION.c.archived_ms, now_ms),
                updated_ms=now_ms,
            )
            theirs = DIALOG.c.conversation.in_(
                select(CONVERSATION.c.id).where(CONVERSATION.c.task == task_id)
            )
            self._execute(update(DIALOG).where(theirs).values(status=_DIALOG_STATUS_AT_END[status].value))

    def admit(self, task_id: str, agents: Iterable[str], *, now_ms: int) -> None:
        """Admit agents to a task; agents already admitted stay unchanged."""
        rows = [{"task": task_id, "agent": agent, "admitted_ms": now_ms} for agent in dict.fromkeys(agents)]
        self._execute(
            insert_into(TASK_PARTICIPANT, self._connection.dialect.name).on_conflict_do_nothing(), rows
        )

    def dismiss(self, task_id: str, agent: str, *, now_ms: int) -> list[str]:
        """Remove an agent from a task and all its conversations; return the conversations it was a member of."""
        mine = (TASK_PARTICIPANT.c.task == task_id, TASK_PARTICIPANT.c.agent == agent)
        self._execute(delete(TASK_PARTICIPANT).where(*mine))
        ids = self._lock_conversations(task_id)
        left = [
            conversation_id
            for conversation_id in ids
            if self.remove_member(conversation_id, agent, now_ms=now_ms)
        ]
        for conversation_id in left:
            after = self.conversation(conversation_id)
            if not after.agents and after.archived_at is None:
                self.archive(conversation_id, now_ms=now_ms)
        self._set_task(task_id, updated_ms=now_ms)
        return left

    # -- conversations ----------------------------------------------------------------------

    def add_conversation(
        self,
        task_id: str,
        conversation_id: str,
        *,
        name: str | None,
        by: str,
        metadata: Metadata | None,
        now_ms: int,
    ) -> None:
        """Add a conversation without members, and its dialog."""
        row = {
            "id": conversation_id,
            "task": task_id,
            "created_by": by,
            **_description(name, metadata),
            "created_ms": now_ms,
            "updated_ms": now_ms,
        }
        self._execute(insert(CONVERSATION).values(messages=0, last_row=0), row)
        dialog = {"dialog_id": conversation_id, "thread_id": task_id, "status": DialogStatus.ACTIVE.value}
        self._execute(insert(DIALOG), {"conversation": conversation_id, **dialog})

    def task_of(self, conversation_id: str) -> str | None:
        """Return the task of a conversation, which never changes; None: the conversation does not exist."""
        query = select(CONVERSATION.c.task).where(CONVERSATION.c.id == conversation_id)
        return self._execute(query).scalar_one_or_none()

    def conversation(self, conversation_id: str) -> Conversation:
        """Return a conversation, locked for this transaction."""
        lock_conversation_row(self._connection, conversation_id)
        conversation = super().conversation(conversation_id)
        assert conversation is not None  # noqa: S101 - the caller has seen it in this transaction
        return conversation

    def describe(
        self, conversation_id: str, *, name: str | None, metadata: Metadata | None, now_ms: int
    ) -> None:
        """Set the name and the tags of a conversation."""
        self._set_conversation(conversation_id, updated_ms=now_ms, **_description(name, metadata))

    def archive(self, conversation_id: str, *, now_ms: int) -> None:
        """Archive a conversation and pause its dialog."""
        self._set_conversation(conversation_id, archived_ms=now_ms, updated_ms=now_ms)
        self._set_dialog(conversation_id, DialogStatus.PAUSED)

    def unarchive(self, conversation_id: str, *, now_ms: int) -> None:
        """Undo `archive`."""
        self._set_conversation(conversation_id, archived_ms=None, updated_ms=now_ms)
        self._set_dialog(conversation_id, DialogStatus.ACTIVE)

    # -- members ----------------------------------------------------------------------------

    def is_member(self, conversation_id: str, agent: str) -> bool:
        """Return whether an agent is currently a member."""
        mine = (MEMBER.c.conversation == conversation_id, MEMBER.c.agent == agent, MEMBER.c.left_ms.is_(None))
        return self._execute(select(MEMBER.c.agent).where(*mine)).first() is not None

    def add_members(self, conversation_id: str, agents: Sequence[str], *, now_ms: int) -> None:
        """Add agents as members; a returning member keeps its read position."""
        rows = [
            {"conversation": conversation_id, "agent": agent, "joined_ms": now_ms, "read_seq": 0}
            for agent in agents
        ]
        if rows:
            joining = insert_into(MEMBER, self._connection.dialect.name)
            again = {"left_ms": None, "joined_ms": joining.excluded.joined_ms}
            key = ["conversation", "agent"]
            self._execute(joining.on_conflict_do_update(index_elements=key, set_=again), rows)
            self._set_conversation(conversation_id, updated_ms=now_ms)

    def remove_member(self, conversation_id: str, agent: str, *, now_ms: int) -> bool:
        """End a membership; return False if the agent was not a member."""
        mine = (MEMBER.c.conversation == conversation_id, MEMBER.c.agent == agent, MEMBER.c.left_ms.is_(None))
        changed = self._execute(update(MEMBER).where(*mine).values(left_ms=now_ms)).rowcount
        if changed:
            self._set_conversation(conversation_id, updated_ms=now_ms)
        return bool(changed)

    # -- messages ---------------------------------------------------------------------------

    def lock_conversation(self, conversation_id: str) -> Row[Any] | None:
        """Return the conversation's row for `append`, locked for this transaction; None: it does not exist."""
        return lock_conversation_row(self._connection, conversation_id)

    def append(self, into: Row[Any], message: IncomingMessage) -> int:
        """Append a message; return its number."""
        return append_messages(self._connection, into, [message])

    def number_of(self, conversation_id: str, message_id: str) -> int | None:
        """Return the number of a message in a conversation; None: the conversation does not contain it."""
        mine = (MESSAGE.c.conversation == conversation_id, MESSAGE.c.message_id == message_id)
        return self._execute(select(MESSAGE.c.seq).where(*mine)).scalar_one_or_none()

    def mark_read(self, conversation_id: str, agent: str, number: int) -> None:
        """Move a reader's position forward to `number`, never back."""
        mine = (MEMBER.c.conversation == conversation_id, MEMBER.c.agent == agent, MEMBER.c.read_seq < number)
        self._execute(update(MEMBER).where(*mine).values(read_seq=number))

    # -- within -----------------------------------------------------------------------------

    def _lock_conversations(self, task_id: str) -> list[str]:
        query = select(CONVERSATION.c.id).where(CONVERSATION.c.task == task_id)
        return list(self._execute(query.order_by(CONVERSATION.c.id).with_for_update()).scalars())

    def _set_task(self, task_id: str, **values: object) -> None:
        self._execute(update(TASK).where(TASK.c.id == task_id).values(**values))

    def _set_conversation(self, conversation_id: str, *, updated_ms: int, **values: object) -> None:
        self._set_conversations(CONVERSATION.c.id == conversation_id, updated_ms=updated_ms, **values)

    def _set_conversations(self, which: ColumnElement[bool], *, updated_ms: int, **values: object) -> None:
        # Never before the time of an existing message.
        newest = func.greatest if self._connection.dialect.name == "postgresql" else func.max
        moved = {"updated_ms": newest(CONVERSATION.c.updated_ms, updated_ms), **values}
        self._execute(update(CONVERSATION).where(which).values(**moved))

    def _set_dialog(self, conversation_id: str, status: DialogStatus) -> None:
        mine = DIALOG.c.conversation == conversation_id
        self._execute(update(DIALOG).where(mine).values(status=status.value))


def _description(name: str | None, metadata: Metadata | None) -> dict[str, str | None]:
    return {"name": None if name is None else storable_text(name), "tags": tags_of(metadata)}


class ExpiredTask(NamedTuple):
    """A task to delete."""

    task_id: str
    #: Number of messages in all its conversations.
    messages: int


class TaskPruner:
    """Finder and deleter of old tasks. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, *, before_ms: int, after_row: str = "", limit: int = 100) -> list[ExpiredTask]:
        """Return tasks that closed or failed before a time, by id, after the id `after_row`; never active tasks."""
        theirs = select(func.coalesce(func.sum(CONVERSATION.c.messages), 0)).where(
            CONVERSATION.c.task == TASK.c.id
        )
        query = select(TASK.c.id, theirs.scalar_subquery()).where(
            TASK.c.id > after_row, TASK.c.ended_ms < before_ms
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(TASK.c.id).limit(limit))
            return [ExpiredTask(task_id, int(messages)) for task_id, messages in rows]

    def delete(self, task_ids: Sequence[str]) -> None:
        """Delete tasks with their participants, conversations, members, dialogs and messages."""
        with self._database.writing() as connection:
            connection.execute(delete(TASK).where(TASK.c.id.in_(task_ids)))
