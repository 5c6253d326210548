"""`symposia conversation`: its task-manager's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import conversation_members
from .acting import Agents, As, ConversationId, TaskId
from .options import AsJson

if TYPE_CHECKING:
    from ...models.tasks.conversation import Conversation

Name = Annotated[str | None, typer.Option(help="Its name, 1 to 100 characters.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", help="A tag; may be repeated.")]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(
        no_args_is_help=True, help="Conversations inside tasks: make them, read them, say something."
    )
    conversation_members.add_to(group)
    for command in (create, update, archive, unarchive, add, remove):
        group.command()(command)
    app.add_typer(group, name="conversation")


def create(
    task: TaskId,
    agent: As,
    participants: Annotated[
        list[str] | None, typer.Option("--with", metavar="AGENT", help="A member; may be repeated.")
    ] = None,
    name: Name = None,
    tags: Tags = None,
    as_json: AsJson = False,
) -> None:
    """Make a conversation in a task, for its task-manager.

    Example: [bold]symposia conversation create 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair --with ann --with ben[/bold]
    """
    from .acting import desk

    metadata = _metadata(tags) if tags else None
    tell(
        desk().conversation_create(agent, task, participants or (), name=name, metadata=metadata),
        as_json=as_json,
    )


def update(
    conversation: ConversationId,
    agent: As,
    name: Name = None,
    no_name: Annotated[bool, typer.Option("--no-name", help="Remove the name.")] = False,
    tags: Tags = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Remove all tags.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change the name or the tags of a conversation, for its task-manager. New tags replace all others.

    Example: [bold]symposia conversation update 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair --name "The roof" --tag kind=roof[/bold]
    """
    from ...models.errors import InvalidInput
    from .acting import desk

    if name is not None and no_name:
        raise InvalidInput("name", name, "must not be given with --no-name")
    if tags and no_tags:
        raise InvalidInput("tag", tags[0], "must not be given with --no-tags")
    changes: dict[str, Any] = {}
    if name is not None or no_name:
        changes["name"] = name
    if tags or no_tags:
        changes["metadata"] = _metadata(tags) if tags else None
    if not changes:
        raise InvalidInput("update", None, "must name what changes: --name, --no-name, --tag or --no-tags")
    tell(desk().conversation_update(agent, conversation, **changes), as_json=as_json)


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


def _metadata(tags: list[str]) -> dict[str, Any]:
    from ...models.errors import InvalidInput

    for tag in tags:
        if "=" not in tag:
            raise InvalidInput("tag", tag, "must be KEY=VALUE")
    pairs = (tag.partition("=") for tag in tags)
    return {"tags": [{key: value} for key, _, value in pairs]}


def tell(conversation: Conversation, *, as_json: bool) -> None:
    """Prints a conversation with its members."""
    from .conversation_members import told
    from .screen import console, print_json, printable

    if as_json:
        print_json(told(conversation))
        return
    name = f" {conversation.name!r}" if conversation.name else ""
    found = (conversation.metadata.tags or ()) if conversation.metadata else ()
    tags = [f"{key}={value}" for tag in found for key, value in tag.items()]
    marks = f" [{', '.join(tags)}]" if tags else ""
    shelf = ", archived" if conversation.archived_at else ""
    who = ", ".join(conversation.agents) or "nobody"
    console().print(printable(f"{conversation.id}{name}{marks} in task {conversation.task_id}: {who}{shelf}"))
