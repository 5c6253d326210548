"""Shared options and output of the commands of tasks and conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import open_client
from ..common.screen import console, print_json, printable

if TYPE_CHECKING:
    from ...workspace.service import WorkspaceService
    from ...workspace.values.conversation import Conversation

As = Annotated[
    str,
    typer.Option(
        "--as", metavar="AGENT", help="Id of the agent that the command acts as.", show_default=False
    ),
]
TaskId = Annotated[str, typer.Argument(metavar="TASK", help="Task id.")]
ConversationId = Annotated[str, typer.Argument(metavar="CONVERSATION", help="Conversation id.")]
Agents = Annotated[list[str], typer.Argument(metavar="AGENT...", help="Agent ids.")]
Limit = Annotated[int, typer.Option(min=1, max=100, help="Maximum number of results.")]
Cursor = Annotated[
    str | None, typer.Option(help="Continue after this cursor, which the previous page printed.")
]


def conversation_service() -> WorkspaceService:
    """Return the conversation service of this installation."""
    return open_client().conversations


def print_next_page(cursor: str | None) -> None:
    """Print the option that continues after this page, if there are more results."""
    if cursor is not None:
        console(stderr=True).print(f"More results: --cursor {cursor}")


def print_conversation(conversation: Conversation, *, as_json: bool) -> None:
    """Print a conversation with its members; as JSON with fields that its schema does not have."""
    if as_json:
        besides = {
            "taskId": conversation.task_id,
            "dialogStatus": conversation.dialog_status.value,
            "participants": list(conversation.agents),
        }
        print_json({**conversation.to_wire(), **besides})
        return
    name = f" {conversation.name!r}" if conversation.name else ""
    tag_tables = (conversation.metadata.tags or ()) if conversation.metadata else ()
    tags = [f"{key}={value}" for tag in tag_tables for key, value in tag.items()]
    marks = f" [{', '.join(tags)}]" if tags else ""
    shelf = ", archived" if conversation.archived_at else ""
    who = ", ".join(conversation.agents) or "no members"
    console().print(printable(f"{conversation.id}{name}{marks} in task {conversation.task_id}: {who}{shelf}"))
