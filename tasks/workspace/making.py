"""Creation of a conversation inside a transaction, for both minting paths.

Source: conversations document, "two minting paths" and "Creating conversations".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...models.errors import ConversationFullError
from ...models.text.ids import new_id
from ...models.workspace.conversation import Conversation
from ...models.workspace.task import Task
from ...models.workspace.values import MAX_MEMBERS, Metadata
from .context import check_admitted

if TYPE_CHECKING:
    from ...archive.workspace.changes import WorkspaceChanges


def create_conversation(
    changes: WorkspaceChanges,
    task: Task,
    members: Sequence[str],
    *,
    name: str | None,
    by: str,
    metadata: Metadata | None,
    now_ms: int,
) -> Conversation:
    """Create a conversation with its dialog and its members.

    Raises:
        ParticipantNotAdmittedError: a member does not take part in the task.
        ConversationFullError: there are too many members.
    """
    check_admitted(task, members)
    conversation_id = new_id()
    check_member_limit(conversation_id, len(set(members)))
    changes.add_conversation(task.id, conversation_id, name=name, by=by, metadata=metadata, now_ms=now_ms)
    changes.add_members(conversation_id, list(dict.fromkeys(members)), now_ms=now_ms)
    return changes.conversation(conversation_id)


def check_member_limit(conversation_id: str, members: int) -> None:
    """Raise ConversationFullError if there are too many members."""
    if members > MAX_MEMBERS:
        raise ConversationFullError(conversation_id, limit=MAX_MEMBERS)
