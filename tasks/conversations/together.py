"""Sessions in tasks: a session may run inside a task, and write into one of its conversations.

What it says reaches the conversation with its archiving, through the one way by which messages come there
(`archive/conversations/delivery.py`). Here is checked, before it is opened, that it may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...models.collab import ParticipantKind
from ...models.errors import (
    ConversationArchivedError,
    InvalidInput,
    NotAMember,
    ParticipantNotAdmittedError,
)
from ...models.submission import Submission
from ...models.tasks.values import read_agent
from .desk import as_id, check_active

if TYPE_CHECKING:
    from ...archive.archive import Archive
    from ...archive.conversations.listing import Pages


class Placing:
    """Places sessions in tasks and conversations.

    Args:
        archive: opens the archive; None: none is kept, and there are no tasks.
    """

    def __init__(self, archive: Callable[[], Archive | None]) -> None:
        self._archive = archive

    def __call__(self, prepared: Submission) -> Submission:
        """The submission with its task as the thread of its dialog.

        Raises:
            InvalidInput: an id is none, no archive is kept, or the thread is another than the task.
            NotAMember: an agent of the session is no member of the conversation, which may not exist.
            ParticipantNotAdmittedError: without a conversation, one that the task has not admitted.
            TaskClosedError, ConversationArchivedError: it takes no messages.
        """
        if prepared.task is None and prepared.conversation is None:
            return prepared
        archive = self._archive()
        field, target = _target(prepared)
        if archive is None:
            raise InvalidInput(field, target, "must be left out: no archive is kept (SYMPOSIA_ARCHIVE)")
        archive.prepare()
        with archive.tasks.reading() as pages:
            task_id = _checked(pages, prepared)
        if prepared.thread_id not in (None, task_id):
            raise InvalidInput("thread_id", prepared.thread_id, "must be the task's id, or be left out")
        conversation = None if prepared.conversation is None else as_id(prepared.conversation)
        return replace(prepared, task=task_id, conversation=conversation, thread_id=task_id)


def _target(prepared: Submission) -> tuple[str, object]:
    """The first of both ids, once it is known that they are ids. Raises InvalidInput."""
    given = {"task": prepared.task, "conversation": prepared.conversation}
    named = {field: value for field, value in given.items() if value is not None}
    for field, value in named.items():
        if not as_id(value):
            raise InvalidInput(field, value, "must be a UUID v4")
    return next(iter(named.items()))


def _checked(pages: Pages, prepared: Submission) -> str:
    """The task that the session runs in, once it is known that it may."""
    if prepared.conversation is None:
        return _check_task(pages, str(prepared.task), prepared)
    found = pages.conversation(as_id(prepared.conversation))
    for agent in _agents(prepared):
        if found is None or agent not in found.agents:
            raise NotAMember(agent, prepared.conversation)
    if found is None:
        raise InvalidInput("conversation", prepared.conversation, "must be a conversation")
    if prepared.task is not None and as_id(prepared.task) != found.task_id:
        raise InvalidInput("task", prepared.task, "must be the task of the conversation, or be left out")
    task_id = _check_task(pages, found.task_id, prepared)
    if found.archived_at is not None:
        raise ConversationArchivedError(found.id)
    return task_id


def _check_task(pages: Pages, task_id: str, prepared: Submission) -> str:
    task = pages.task(as_id(task_id))
    if unknown := [it for it in _agents(prepared) if task is None or it not in task.agents]:
        raise ParticipantNotAdmittedError(task_id, unknown)
    if task is None:
        raise InvalidInput("task", task_id, "must be a task")
    check_active(task.id, task.status)
    return task.id


def _agents(prepared: Submission) -> list[str]:
    return [
        read_agent(it.participant_id, f"participants[{place}].participant_id")
        for place, it in enumerate(prepared.collab.participants)
        if it.kind is ParticipantKind.AGENT
    ]
