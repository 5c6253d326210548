"""Workspace service: the methods that every participant may call, and the class with all methods."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from ..models.errors import ConversationArchivedError, InvalidInput, NotAMember
from ..models.protocol.base import Event
from ..models.protocol.dialog import MESSAGE_EVENT, Message, Role
from ..models.text.ids import moment_from_ms, new_id, normalize_id
from .base import WorkspaceMethods, check_active, check_limit
from .manager_methods import ConversationManagement, TaskManagement
from .notifications import BEGINNING, ReceivedNotification
from .task_requests import TaskRequests
from .values.conversation import (
    MAX_TEXT,
    USUAL,
    Conversation,
    ConversationMessage,
    ConversationSummary,
    IncomingMessage,
    NewMessage,
    read_agent,
)
from .values.parts import Part, read_parts, summarize_parts
from .values.task import NotificationKind, Task, TaskStatus

if TYPE_CHECKING:
    from ..archive.results import ResultPage
    from .sql.listing import WorkspaceQueries


#: Maximum seconds that a call waits for a new message, and seconds between two looks.
MAX_WAIT_S = 60
_POLL_S = 0.25


class ParticipantMethods(WorkspaceMethods):
    """Methods of agents. Each raises NotAMember if the agent takes no part, or the object does not exist."""

    # -- tasks ------------------------------------------------------------------------------

    def task_list(self, agent: str, *, limit: int = USUAL, cursor: str | None = None) -> ResultPage[Task]:
        """Return tasks that an agent takes part in or manages, newest first.

        Args:
            agent: The calling agent.
            limit: Maximum number, at most 100.
            cursor: Where the previous page ended.

        Raises:
            InvalidInput: A bad limit or cursor.
            ArchiveUnavailable: The database does not answer.
        """
        agent = read_agent(agent)
        with self._store.reading() as queries:
            return queries.tasks(agent, after=cursor, limit=check_limit(limit))

    def task_get(self, agent: str, task_id: str) -> Task:
        """Return a task, for its participants and its task-manager.

        Args:
            agent: The calling agent.
            task_id: The task.

        Raises:
            NotAMember: The agent neither takes part in the task nor manages it, or the task does not exist.
            ArchiveUnavailable: The database does not answer.
        """
        agent = read_agent(agent)
        with self._store.reading() as queries:
            task = queries.task(normalize_id(task_id))
        if task is None or agent not in (*task.agents, task.task_manager):
            raise NotAMember(agent, task_id)
        return task

    def task_leave(self, agent: str, task_id: str) -> Task | None:
        """Leave a task and all its conversations. When the last participant leaves, the task closes.

        A conversation whose last member leaves is archived.

        Args:
            agent: The calling agent.
            task_id: The task.

        Returns:
            The task as it is now; None: the agent takes no part, or the task does not exist.

        Raises:
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent, now_ms = read_agent(agent), self._now_ms()
        with self._store.changing() as changes:
            before = changes.lock_task(normalize_id(task_id))
            if before is None or agent not in before.agents:
                return None
            changes.dismiss(before.id, agent, now_ms=now_ms)
            is_open = before.status in (TaskStatus.WAITING, TaskStatus.ACTIVE)
            closes = is_open and before.agents == (agent,)
            if closes:
                changes.end_task(before.id, TaskStatus.CLOSED, now_ms=now_ms)
            after = changes.lock_task(before.id) or before
        at = moment_from_ms(now_ms)
        self._notify(NotificationKind.TASK_PARTICIPANT_REMOVED, before, at=at, agent=agent, by=agent)
        if closes:
            self._notify(NotificationKind.TASK_CLOSED, before, at=at, by=agent)
        return after

    # -- conversations ----------------------------------------------------------------------

    def conversation_list(
        self,
        agent: str,
        *,
        task_id: str | None = None,
        archived: bool | None = None,
        include_archived: bool = False,
        limit: int = USUAL,
        cursor: str | None = None,
    ) -> ResultPage[ConversationSummary]:
        """Return conversations that an agent is a member of, by last activity, newest first, then by id.

        Args:
            agent: The caller, here and below.
            task_id: Only those of this task.
            archived: Only archived ones (True) or only others (False); None: depends on `include_archived`.
            include_archived: Whether archived ones are listed together with the others.
            limit: At most 100.
            cursor: Where the previous page ended.

        Raises:
            NotAMember: The agent neither takes part in the task nor manages it.
            InvalidInput: A bad limit or cursor.
        """
        agent = read_agent(agent)
        with self._store.reading() as queries:
            if task_id is not None and not queries.takes_part(normalize_id(task_id), agent):
                raise NotAMember(agent, task_id)
            wanted = None if task_id is None else normalize_id(task_id)
            if archived is None and not include_archived:
                archived = False
            return queries.conversations(
                agent, task_id=wanted, archived=archived, after=cursor, limit=check_limit(limit)
            )

    def conversation_get(self, agent: str, conversation_id: str) -> Conversation:
        """Return a conversation, for its members.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.

        Raises:
            NotAMember: The agent is not a member, or the conversation does not exist.
            ArchiveUnavailable: The database does not answer.
        """
        agent = read_agent(agent)
        with self._store.reading() as queries:
            return _find_conversation(queries, agent, conversation_id)

    # -- messages ---------------------------------------------------------------------------

    def send(
        self,
        agent: str,
        conversation_id: str,
        text: str | None = None,
        *,
        parts: Sequence[Part | Mapping[str, Any]] | None = None,
        reply_to: str | None = None,
    ) -> ConversationMessage:
        """Send a message to the members of a conversation.

        If several errors apply, the first of the list below is raised.

        Args:
            agent: The sender.
            conversation_id: The conversation.
            text: 1 to 32,768 characters; None: that of the parts.
            parts: Text, data and references to files, such as `{"kind": "data", "data": {"floor": 3}}` or
                `{"kind": "file", "uri": "https://...", "name": "plan.pdf", "mediaType": "application/pdf"}`.
            reply_to: Id of the message of this conversation that it answers.

        Returns:
            The message with its number.

        Raises:
            NotAMember: The agent is not a member, or the conversation does not exist.
            TaskClosedError: The task is not active.
            ConversationArchivedError: The conversation is archived.
            InvalidInput: A bad text, part or `reply_to`.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent = read_agent(agent)
        with self._store.changing() as changes:
            into = changes.lock_conversation(normalize_id(conversation_id))
            if into is None or not changes.is_member(into.id, agent):
                raise NotAMember(agent, conversation_id)
            check_active(into.task, changes.status_of(into.task))
            if into.archived_ms is not None:
                raise ConversationArchivedError(into.id)
            if reply_to is not None:
                _check_target(changes.number_of(into.id, normalize_id(reply_to)), reply_to)
            given = read_parts(parts) if parts is not None else ()
            body = summarize_parts(given)[:MAX_TEXT] if text is None and given else _text(text)
            message = _build_message(agent, body, parts=given, reply_to=reply_to, now_ms=self._now_ms())
            return ConversationMessage(message.message_id, changes.append(into, message), message.message)

    def history(
        self, agent: str, conversation_id: str, *, limit: int = USUAL, cursor: str | None = None
    ) -> ResultPage[ConversationMessage]:
        """Return the newest messages, oldest first; the cursor of a page leads to the messages before it.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.
            limit: Maximum number, at most 100.
            cursor: Where the previous page ended.

        Raises:
            NotAMember: The agent is not a member, or the conversation does not exist.
            InvalidInput: A bad limit or cursor.
            ArchiveUnavailable: The database does not answer.
        """
        agent = read_agent(agent)
        with self._store.reading() as queries:
            conversation = _find_conversation(queries, agent, conversation_id)
            return queries.history(conversation.id, before=cursor, limit=check_limit(limit))

    def new_messages(
        self, agent: str, *, after: str | None = None, limit: int = USUAL, wait_s: float = 0
    ) -> ResultPage[NewMessage]:
        """Return messages of others in all conversations of an agent, as they arrived, oldest first.

        Call it again with the cursor of the page to follow the stream. Messages of sessions are included.

        Args:
            agent: The calling agent.
            after: The cursor of the last page; None: from the oldest message on.
            limit: Maximum number, at most 100.
            wait_s: Seconds to wait for a first message, at most 60.

        Returns:
            Messages with their conversations; the page always has a cursor.

        Raises:
            InvalidInput: A bad cursor, limit or number of seconds.
            ArchiveUnavailable: The database does not answer.
        """
        agent, limit = read_agent(agent), check_limit(limit)
        if not 0 <= wait_s <= MAX_WAIT_S:
            raise InvalidInput("wait_s", wait_s, f"must be from 0 to {MAX_WAIT_S}")
        give_up = time.monotonic() + wait_s
        while True:
            with self._store.reading() as queries:
                page = queries.new_messages(agent, after=after, limit=limit)
            if page.items or time.monotonic() >= give_up:
                return page
            time.sleep(_POLL_S)

    def mark_read(self, agent: str, conversation_id: str, message_id: str | None = None) -> int:
        """Mark messages as read up to one. The mark never moves back.

        Args:
            agent: The calling agent.
            conversation_id: The conversation.
            message_id: The last message that was read. None: the newest.

        Returns:
            The number of unread messages.

        Raises:
            NotAMember: The agent is not a member, or the conversation does not exist.
            InvalidInput: The message does not belong to this conversation.
            ArchiveUnavailable: The database does not answer; nothing was changed.
        """
        agent = read_agent(agent)
        with self._store.changing() as changes:
            into = changes.lock_conversation(normalize_id(conversation_id))
            if into is None or not changes.is_member(into.id, agent):
                raise NotAMember(agent, conversation_id)
            number = into.messages
            if message_id is not None:
                number = _check_target(
                    changes.number_of(into.id, normalize_id(message_id)), message_id, "message_id"
                )
            changes.mark_read(into.id, agent, number)
        with self._store.reading() as queries:
            return queries.count_unread(into.id, agent)


def _find_conversation(queries: WorkspaceQueries, agent: str, conversation_id: str) -> Conversation:
    """Return the conversation, if the agent is a member of it. Raises NotAMember."""
    conversation = queries.conversation(normalize_id(conversation_id))
    if conversation is None or agent not in conversation.agents:
        raise NotAMember(agent, conversation_id)
    return conversation


def _check_target(number: int | None, message_id: str, field: str = "reply_to") -> int:
    if number is None:
        raise InvalidInput(field, message_id, "must be a message of this conversation")
    return number


def _text(text: object) -> str:
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_TEXT:
        shown = f"{len(text)} characters" if isinstance(text, str) else text
        raise InvalidInput("text", shown, f"must be text of 1 to {MAX_TEXT} characters")
    return text


def _build_message(
    agent: str, text: str, *, parts: tuple[Part, ...], reply_to: str | None, now_ms: int
) -> IncomingMessage:
    """Return a dialog message; its sender and `reply_to` are in its event, which has the same id."""
    data: dict[str, JsonValue] = {"participant_id": agent}
    if reply_to is not None:
        data["reply_to"] = normalize_id(reply_to)
    if parts:
        data["parts"] = [part.to_wire() for part in parts]
    at, message_id = moment_from_ms(now_ms), new_id()
    event = Event(
        event_id=message_id, event_type=MESSAGE_EVENT, source="conversation", timestamp=at, data=data
    )
    return IncomingMessage(
        message_id, Message(role=Role.AGENT, content=text, timestamp=at, event=event), now_ms
    )


class WorkspaceService(TaskRequests, ConversationManagement, TaskManagement, ParticipantMethods):
    """Tasks, each with a task-manager, and the conversations inside them.

    Every method takes the id of the calling agent, and checks it. All methods raise ArchiveUnavailable if the
    database does not answer; then nothing was changed.
    """

    def notices(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[ReceivedNotification]:
        """Return the notifications of an agent after a cursor, oldest first.

        Notifications may be lost; they are kept for a week.

        Args:
            agent: The calling agent.
            after: The cursor of the last notification that was read.
            limit: Maximum number.

        Raises:
            InvalidInput: A bad cursor.
            RedisUnavailable: Redis does not answer.
        """
        if self._notifications is None:
            return []
        return self._notifications.read(read_agent(agent), after=after, limit=limit)
