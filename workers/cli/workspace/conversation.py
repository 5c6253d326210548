"""`symposia conversation`: commands of the task-manager."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..common.options import AsJson
from . import conversation_members
from .common import Agents, As, ConversationId, TaskId

Name = Annotated[str | None, typer.Option(help="Name of the conversation, 1 to 100 characters.")]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="KEY=VALUE", help="Tag of the conversation; may be repeated."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Create, read and manage conversations inside tasks.")
    conversation_members.add_member_commands(group)
    for command in (create, update, archive, unarchive, add, remove):
        group.command()(command)
    app.add_typer(group, name="conversation")


def create(
    task: TaskId,
    agent: As,
    participants: Annotated[
        list[str] | None, typer.Option("--with", metavar="AGENT", help="Id of a member; may be repeated.")
    ] = None,
    name: Name = None,
    tags: Tags = None,
    as_json: AsJson = False,
) -> None:
    """Create a conversation in a task. Only for the task-manager.

    Example: [bold]symposia conversation create 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair --with ann --with ben[/bold]
    """
    from .common import conversation_service, print_conversation

    metadata = _metadata(tags) if tags else None
    print_conversation(
        conversation_service().conversation_create(
            agent, task, participants or (), name=name, metadata=metadata
        ),
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
    """Change the name or the tags of a conversation. New tags replace all old tags. Only for the task-manager.

    Example: [bold]symposia conversation update 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair --name "The roof" --tag kind=roof[/bold]
    """
    from ....models.errors import InvalidInput
    from .common import conversation_service, print_conversation

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
        raise InvalidInput("update", None, "requires a change: --name, --no-name, --tag or --no-tags")
    print_conversation(
        conversation_service().conversation_update(agent, conversation, **changes), as_json=as_json
    )


def archive(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Archive a conversation: it accepts no messages. Only for the task-manager.

    Example: [bold]symposia conversation archive 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    from .common import conversation_service, print_conversation

    print_conversation(conversation_service().archive(agent, conversation), as_json=as_json)


def unarchive(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Reopen an archived conversation. Only for the task-manager.

    Example: [bold]symposia conversation unarchive 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    from .common import conversation_service, print_conversation

    print_conversation(conversation_service().unarchive(agent, conversation), as_json=as_json)


def add(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """Add agents that take part in the task to a conversation. Only for the task-manager.

    Example: [bold]symposia conversation add 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    from .common import conversation_service, print_conversation

    print_conversation(
        conversation_service().participants_add(agent, conversation, participants), as_json=as_json
    )


def remove(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """Remove members from a conversation. Only for the task-manager.

    Example: [bold]symposia conversation remove 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    from .common import conversation_service, print_conversation

    print_conversation(
        conversation_service().participants_remove(agent, conversation, participants), as_json=as_json
    )


def _metadata(tags: list[str]) -> dict[str, Any]:
    from ....models.errors import InvalidInput

    for tag in tags:
        if "=" not in tag:
            raise InvalidInput("tag", tag, "must be KEY=VALUE")
    pairs = (tag.partition("=") for tag in tags)
    return {"tags": [{key: value} for key, _, value in pairs]}
