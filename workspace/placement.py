"""Placement of sessions in tasks and conversations, and its permission checks.

A session may run inside a task, and write to one of its conversations. Its messages reach the conversation
only when the session is archived (`workspace/sql/messages.py`). The permission is checked before a
session is opened and before a participant joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..models.errors import ConversationArchivedError, InvalidInput, NotAMember
from ..models.protocol.collab import Participant, ParticipantKind
from ..models.sessions.spec import SessionSpec
from ..models.sessions.submission import Submission
from ..models.text.ids import normalize_id
from .base import check_active, check_admitted
from .sql.store import WorkspaceStore
from .values.conversation import read_agent

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from .sql.listing import WorkspaceQueries
    from .values.conversation import Conversation


class TaskPlacement:
    """Assignment of sessions to tasks and conversations.

    Args:
        archive: Function that returns the archive; None: there is no archive, so there are no tasks.
    """

    def __init__(self, archive: Callable[[], Archive | None]) -> None:
        self._archive = archive

    def __call__(self, prepared: Submission) -> Submission:
        """Return the submission with its task as the thread of its dialog.

        Raises:
            InvalidInput: An id is not valid, there is no archive, or the thread is not that of the task.
            NotAMember: An agent is not a member of the conversation, or the conversation does not exist.
            ParticipantNotAdmittedError: Without a conversation: the task has not admitted a participant.
            TaskClosedError, ConversationArchivedError: It accepts no messages.
        """
        if prepared.task is None and prepared.conversation is None:
            return prepared
        field, target = _target(prepared)
        with self._reading(field, target) as queries:
            task_id = _check_placement(queries, prepared)
        if prepared.thread_id not in (None, task_id):
            raise InvalidInput("thread_id", prepared.thread_id, "must be the id of the task, or omitted")
        conversation = None if prepared.conversation is None else normalize_id(prepared.conversation)
        placement = {"task": task_id, "conversation": conversation, "thread_id": task_id}
        return prepared.model_copy(update=placement)

    def check_joining(self, spec: SessionSpec, who: Participant) -> None:
        """Check whether a participant may take part in a running session, by the rules of `__call__`.

        It does not matter if the task or conversation was closed.

        Raises:
            InvalidInput: An id is not valid, or there is no archive.
            NotAMember: The participant is not a member of the conversation.
            ParticipantNotAdmittedError: The task has not admitted the participant.
        """
        if spec.task is None or who.kind is not ParticipantKind.AGENT:
            return
        agent = read_agent(who.participant_id, "participant.participant_id")
        with self._reading("participant", agent) as queries:
            if spec.conversation is None:
                check_admitted(queries.task(spec.task), spec.task, [agent])
            else:
                _check_members(queries.conversation(spec.conversation), spec.conversation, [agent])

    @contextmanager
    def _reading(self, field: str, value: object) -> Iterator[WorkspaceQueries]:
        archive = self._archive()
        if archive is None:
            raise InvalidInput(field, value, "requires the archive, which is disabled (SYMPOSIA_ARCHIVE)")
        archive.prepare()
        with WorkspaceStore(archive.database).reading() as queries:
            yield queries


def _target(prepared: Submission) -> tuple[str, object]:
    """Return the field and value of the first id, after a check that both are valid. Raises InvalidInput."""
    given = {"task": prepared.task, "conversation": prepared.conversation}
    named = {field: value for field, value in given.items() if value is not None}
    for field, value in named.items():
        if not normalize_id(value):
            raise InvalidInput(field, value, "must be a UUID v4")
    return next(iter(named.items()))


def _check_placement(queries: WorkspaceQueries, prepared: Submission) -> str:
    """Return the task that the session runs in, after a check that it may."""
    if prepared.conversation is None:
        return _check_task(queries, str(prepared.task), prepared)
    conversation = queries.conversation(normalize_id(prepared.conversation))
    _check_members(conversation, prepared.conversation, _agents(prepared))
    if conversation is None:
        raise InvalidInput("conversation", prepared.conversation, "must be the id of a conversation")
    if prepared.task is not None and normalize_id(prepared.task) != conversation.task_id:
        raise InvalidInput("task", prepared.task, "must be the task of the conversation, or omitted")
    task_id = _check_task(queries, conversation.task_id, prepared)
    if conversation.archived_at is not None:
        raise ConversationArchivedError(conversation.id)
    return task_id


def _check_task(queries: WorkspaceQueries, task_id: str, prepared: Submission) -> str:
    task = queries.task(normalize_id(task_id))
    check_admitted(task, task_id, _agents(prepared))
    if task is None:
        raise InvalidInput("task", task_id, "must be the id of a task")
    check_active(task.id, task.status)
    return task.id


def _check_members(conversation: Conversation | None, conversation_id: str, agents: Iterable[str]) -> None:
    for agent in agents:
        if conversation is None or agent not in conversation.agents:
            raise NotAMember(agent, conversation_id)


def _agents(prepared: Submission) -> list[str]:
    return [
        read_agent(participant.participant_id, f"participants[{index}].participant_id")
        for index, participant in enumerate(prepared.collab.participants)
        if participant.kind is ParticipantKind.AGENT
    ]
