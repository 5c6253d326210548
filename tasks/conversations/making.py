"""Making a conversation inside a transaction, by either of the two minting paths.

Source: conversations document, "two minting paths" and "Creating conversations".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...models.errors import ConversationFullError
from ...models.ids import new_id
from ...models.tasks.conversation import Conversation
from ...models.tasks.task import Task
from ...models.tasks.values import MAX_MEMBERS, Metadata
from .desk import check_admitted

if TYPE_CHECKING:
    from ...archive.conversations.changes import Changes


def conversation_made(
    changes: Changes,
    task: Task,
    members: Sequence[str],
    *,
    name: str | None,
    by: str,
    metadata: Metadata | None,
    now_ms: int,
) -> Conversation:
    """A new conversation with its dialog and its members.

    Raises:
        ParticipantNotAdmittedError: one of them does not take part in the task.
        ConversationFullError: they are too many.
    """
    check_admitted(task, members)
    conversation_id = new_id()
    check_room(conversation_id, len(set(members)))
    changes.add_conversation(task.id, conversation_id, name=name, by=by, metadata=metadata, now_ms=now_ms)
    changes.add_members(conversation_id, list(dict.fromkeys(members)), now_ms=now_ms)
    return changes.conversation(conversation_id)


def check_room(conversation_id: str, members: int) -> None:
    """Raises ConversationFullError."""
    if members > MAX_MEMBERS:
        raise ConversationFullError(conversation_id, limit=MAX_MEMBERS)
