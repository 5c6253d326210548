"""`symposia conversation`: its task-manager's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import conversation_members
from .acting import Agents, As, ConversationId, TaskId
from .options import AsJson

if TYPE_CHECKING:
    from ...models.tasks.conversation import Conversation


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(
        no_args_is_help=True, help="Conversations inside tasks: make them, read them, say something."
    )
    conversation_members.add_to(group)
    for command in (create, archive, unarchive, add, remove):
        group.command()(command)
    app.add_typer(group, name="conversation")


def create(
    task: TaskId,
    agent: As,
    participants: Annotated[
        list[str] | None, typer.Option("--with", metavar="AGENT", help="A member; may be repeated.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a conversation in a task, for its task-manager.

    Example: [bold]symposia conversation create 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair --with ann --with ben[/bold]
    """
    from .acting import desk

    tell(desk().conversation_create(agent, task, participants or (), name=name), as_json=as_json)


def archive(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Archive a conversation, for its task-manager: it takes no messages.

    Example: [bold]symposia conversation archive 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    from .acting import desk

    tell(desk().archive(agent, conversation), as_json=as_json)


def unarchive(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Let an archived conversation go on, for its task-manager.

    Example: [bold]symposia conversation unarchive 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    from .acting import desk

    tell(desk().unarchive(agent, conversation), as_json=as_json)


def add(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """Make members of agents that the task has admitted, for its task-manager.

    Example: [bold]symposia conversation add 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    from .acting import desk

    tell(desk().participants_add(agent, conversation, participants), as_json=as_json)


def remove(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """End memberships, for its task-manager.

    Example: [bold]symposia conversation remove 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    from .acting import desk

    tell(desk().participants_remove(agent, conversation, participants), as_json=as_json)


def tell(conversation: Conversation, *, as_json: bool) -> None:
    """Prints a conversation with its members."""
    from .conversation_members import told
    from .screen import console, print_json, printable

    if as_json:
        print_json(told(conversation))
        return
    name = f" {conversation.name!r}" if conversation.name else ""
    shelf = ", archived" if conversation.archived_at else ""
    who = ", ".join(conversation.agents) or "nobody"
    console().print(printable(f"{conversation.id}{name} in task {conversation.task_id}: {who}{shelf}"))
