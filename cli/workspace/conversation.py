"""`symposia conversation`: commands of the task-manager and of members."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..common.options import AsJson
from ..common.screen import console, print_json, printable
from .common import (
    Agents,
    As,
    ConversationId,
    Cursor,
    Limit,
    TaskId,
    conversation_service,
    print_conversation,
    print_next_page,
)

ReplyTo = Annotated[
    str | None, typer.Option(metavar="MESSAGE", help="Id of the message that this message answers.")
]
UpTo = Annotated[
    str | None,
    typer.Option(
        metavar="MESSAGE", help="Id of the last message to mark.", show_default="the newest message"
    ),
]


def list_(
    agent: As,
    task: Annotated[str | None, typer.Option(help="Only conversations of this task id.")] = None,
    archived: Annotated[
        bool, typer.Option("--archived/--open", help="Include archived conversations.")
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """List the conversations of an agent by last activity, with the number of unread messages.

    Example: [bold]symposia conversation list --as ann --archived[/bold]
    """
    page = conversation_service().conversation_list(
        agent, task_id=task, include_archived=archived, limit=limit, cursor=cursor
    )
    if as_json:
        print_json(
            {"conversations": [conversation.to_wire() for conversation in page.items], "cursor": page.cursor}
        )
        return
    for conversation in page.items:
        last = f": {conversation.last_message_preview}" if conversation.last_message_preview else ""
        shelf = " (archived)" if conversation.archived_at else ""
        line = (
            f"{conversation.id}  {conversation.unread_count:>4} unread  "
            f"{conversation.name or ''}{shelf}{last}"
        )
        console().print(printable(line).replace("\n", " "))
    print_next_page(page.cursor)


def show(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Show a conversation and its members.

    Example: [bold]symposia conversation show 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    print_conversation(conversation_service().conversation_get(agent, conversation), as_json=as_json)


def send(
    conversation: ConversationId,
    agent: As,
    text: Annotated[
        str | None,
        typer.Argument(help="Text of the message; `-` reads standard input. Default: the text of its parts."),
    ] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--part", metavar="JSON", help="Part of the message: text, data or file; may be repeated."
        ),
    ] = None,
    reply_to: ReplyTo = None,
    as_json: AsJson = False,
) -> None:
    """Send a message to the members of a conversation.

    A part is [bold]{"kind": "text", "text": "..."}[/bold], [bold]{"kind": "data", "data": {}}[/bold] or
    [bold]{"kind": "file", "uri": "..."}[/bold].

    Example: [bold]symposia conversation send 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 "Blue." --as ann[/bold]
    """
    import sys

    content = sys.stdin.read().rstrip("\n") if text == "-" else text
    given = [_read_part(part) for part in parts] if parts else None
    message = conversation_service().send(agent, conversation, content, parts=given, reply_to=reply_to)
    if as_json:
        print_json(message.to_wire())
    else:
        typer.echo(f"Message {message.number} sent, id {message.id}")


def history(
    conversation: ConversationId, agent: As, limit: Limit = 50, cursor: Cursor = None, as_json: AsJson = False
) -> None:
    """Show the last messages of a conversation in chronological order.

    Example: [bold]symposia conversation history 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    page = conversation_service().history(agent, conversation, limit=limit, cursor=cursor)
    if as_json:
        print_json({"messages": [message.to_wire() for message in page.items], "cursor": page.cursor})
        return
    for message in page.items:
        console().print(
            printable(f"{message.number:>4} {message.sender or message.message.role.value}: {message.text}")
        )
    print_next_page(page.cursor)


def watch(
    agent: As,
    after: Cursor = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further messages until Ctrl-C.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show new messages of others in all conversations of an agent, in the order of arrival.

    With --json, each message is one JSON object on one line, with the cursor after it.

    Example: [bold]symposia conversation watch --as ann --follow[/bold]
    """
    service = conversation_service()
    page = service.new_messages(agent, after=after, limit=limit)
    while True:
        for received in page.items:
            if as_json:
                print_json({**received.to_wire(), "cursor": page.cursor}, lines=True)
                continue
            message = received.message
            line = (
                f"{received.conversation_id} {message.number:>4} "
                f"{message.sender or message.message.role.value}: {message.text}"
            )
            console().print(printable(line))
        if not follow:
            break
        page = service.new_messages(agent, after=page.cursor, limit=limit, wait_s=30)
    if not as_json:
        print_next_page(page.cursor)


def read(conversation: ConversationId, agent: As, up_to: UpTo = None, as_json: AsJson = False) -> None:
    """Mark messages of a conversation as read: all, or those up to a given message.

    Example: [bold]symposia conversation read 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    unread = conversation_service().mark_read(agent, conversation, up_to)
    if as_json:
        print_json({"id": conversation, "unreadCount": unread})
    else:
        typer.echo(f"{unread} unread messages.")


def notices(
    agent: As,
    after: Annotated[
        str,
        typer.Option(
            metavar="CURSOR", help="Only notifications after this cursor; 0 starts with the oldest one."
        ),
    ] = "0",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show the notifications of an agent about its tasks and conversations, oldest first.

    Example: [bold]symposia conversation notices --as ann[/bold]
    """
    from ...models.text.ids import format_timestamp

    notifications = conversation_service().notices(agent, after=after, limit=limit)
    if as_json:
        print_json(
            [
                {"cursor": notification.cursor, **notification.notice.to_wire()}
                for notification in notifications
            ]
        )
        return
    for notification in notifications:
        about = f" {notification.notice.agent}" if notification.notice.agent else ""
        where = notification.notice.conversation_id or notification.notice.task_id
        line = (
            f"{notification.cursor}  {format_timestamp(notification.notice.at)}  "
            f"{notification.notice.kind.value}{about}  {where}"
        )
        console().print(printable(line))


Name = Annotated[str | None, typer.Option(help="Name of the conversation, 1 to 100 characters.")]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="KEY=VALUE", help="Tag of the conversation; may be repeated."),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Create, read and manage conversations inside tasks.")
    group.command("list")(list_)
    for command in (
        show,
        send,
        history,
        watch,
        read,
        notices,
        create,
        update,
        archive,
        unarchive,
        add,
        remove,
    ):
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
    from ...models.errors import InvalidInput

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
    print_conversation(conversation_service().archive(agent, conversation), as_json=as_json)


def unarchive(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Reopen an archived conversation. Only for the task-manager.

    Example: [bold]symposia conversation unarchive 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    print_conversation(conversation_service().unarchive(agent, conversation), as_json=as_json)


def add(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """Add participants of the task to a conversation. Only for the task-manager.

    Example: [bold]symposia conversation add 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    print_conversation(
        conversation_service().participants_add(agent, conversation, participants), as_json=as_json
    )


def remove(conversation: ConversationId, participants: Agents, agent: As, as_json: AsJson = False) -> None:
    """Remove members from a conversation. Only for the task-manager.

    Example: [bold]symposia conversation remove 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    print_conversation(
        conversation_service().participants_remove(agent, conversation, participants), as_json=as_json
    )


def _read_part(part: str) -> dict[str, Any]:
    import json

    from ...models.errors import InvalidInput

    try:
        data = json.loads(part)
    except ValueError as error:
        raise InvalidInput("part", part, f"must be JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInput("part", part, "must be a JSON object")
    return data


def _metadata(tags: list[str]) -> dict[str, Any]:
    from ...models.errors import InvalidInput

    for tag in tags:
        if "=" not in tag:
            raise InvalidInput("tag", tag, "must be KEY=VALUE")
    pairs = (tag.partition("=") for tag in tags)
    return {"tags": [{key: value} for key, _, value in pairs]}
