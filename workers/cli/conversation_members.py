"""`symposia conversation`: the commands of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .acting import As, ConversationId, Cursor, Limit
from .options import AsJson

if TYPE_CHECKING:
    from ...models.tasks.conversation import Conversation

MessageId = Annotated[str | None, typer.Option(metavar="MESSAGE", help="The id of a message.")]


def add_to(group: typer.Typer) -> None:
    """Adds the commands."""
    group.command("list")(list_)
    for command in (show, send, history, read, notices):
        group.command()(command)


def list_(
    agent: As,
    task: Annotated[str | None, typer.Option(help="Only those of this task.")] = None,
    archived: Annotated[
        bool, typer.Option("--archived/--open", help="Include archived conversations.")
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """List an agent's conversations by last activity, with what it has not read.

    Example: [bold]symposia conversation list --as ann --archived[/bold]
    """
    from .acting import desk, tell_page
    from .screen import console, print_json, printable

    page = desk().conversation_list(
        agent, task_id=task, include_archived=archived, limit=limit, cursor=cursor
    )
    if as_json:
        print_json({"conversations": [it.to_wire() for it in page.items], "cursor": page.cursor})
        return
    for it in page.items:
        last = f": {it.last_message_preview}" if it.last_message_preview else ""
        shelf = " (archived)" if it.archived_at else ""
        line = f"{it.id}  {it.unread_count:>4} unread  {it.name or ''}{shelf}{last}"
        console().print(printable(line).replace("\n", " "))
    tell_page(page.cursor)


def show(conversation: ConversationId, agent: As, as_json: AsJson = False) -> None:
    """Show a conversation and who its members are.

    Example: [bold]symposia conversation show 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    from .acting import desk
    from .conversation import tell

    tell(desk().conversation_get(agent, conversation), as_json=as_json)


def send(
    conversation: ConversationId,
    text: Annotated[str, typer.Argument(help="The message; `-`: standard input.")],
    agent: As,
    reply_to: MessageId = None,
    as_json: AsJson = False,
) -> None:
    """Say something to the members of a conversation.

    Example: [bold]symposia conversation send 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 "Blue." --as ann[/bold]
    """
    import sys

    from .acting import desk
    from .screen import print_json

    words = sys.stdin.read().rstrip("\n") if text == "-" else text
    said = desk().send(agent, conversation, words, reply_to=reply_to)
    if as_json:
        print_json(said.to_wire())
    else:
        typer.echo(f"Message {said.number} is {said.id}.")


def history(
    conversation: ConversationId, agent: As, limit: Limit = 50, cursor: Cursor = None, as_json: AsJson = False
) -> None:
    """Show what was said last, oldest first.

    Example: [bold]symposia conversation history 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    from .acting import desk, tell_page
    from .screen import console, print_json, printable

    page = desk().history(agent, conversation, limit=limit, cursor=cursor)
    if as_json:
        print_json({"messages": [it.to_wire() for it in page.items], "cursor": page.cursor})
        return
    for it in page.items:
        console().print(printable(f"{it.number:>4} {it.sender or it.message.role.value}: {it.text}"))
    tell_page(page.cursor)


def read(conversation: ConversationId, agent: As, up_to: MessageId = None, as_json: AsJson = False) -> None:
    """Mark a conversation as read, up to a message or to the end.

    Example: [bold]symposia conversation read 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    from .acting import desk
    from .screen import print_json

    unread = desk().mark_read(agent, conversation, up_to)
    if as_json:
        print_json({"id": conversation, "unreadCount": unread})
    else:
        typer.echo(f"{unread} unread.")


def notices(
    agent: As,
    after: Annotated[str, typer.Option(metavar="CURSOR", help="Only what came behind it.")] = "0",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show what an agent was told of its tasks and conversations, oldest first.

    Example: [bold]symposia conversation notices --as ann[/bold]
    """
    from ...models.ids import format_timestamp
    from .acting import desk
    from .screen import console, print_json, printable

    told = desk().notices(agent, after=after, limit=limit)
    if as_json:
        print_json([{"cursor": it.cursor, **it.notice.to_wire()} for it in told])
        return
    for it in told:
        about = f" {it.notice.agent}" if it.notice.agent else ""
        where = it.notice.conversation_id or it.notice.task_id
        line = f"{it.cursor}  {format_timestamp(it.notice.at)}  {it.notice.kind.value}{about}  {where}"
        console().print(printable(line))


def told(conversation: Conversation) -> dict[str, Any]:
    """A conversation as data, with what its schema has no place for."""
    besides = {
        "taskId": conversation.task_id,
        "dialogStatus": conversation.dialog_status.value,
        "participants": list(conversation.agents),
    }
    return {**conversation.to_wire(), **besides}
