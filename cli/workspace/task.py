"""`symposia task request`, `list`, `show`, `close`, `add`, `remove` and `leave`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson
from ..common.screen import console, print_json, printable
from .common import As, Cursor, Limit, TaskId, conversation_service, print_next_page

if TYPE_CHECKING:
    from ...workspace.values.task import Task

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="Agent id.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        no_args_is_help=True, help="Request, list and close tasks, and manage their participants."
    )
    group.command("list")(list_)
    for command in (request, show, close, add, remove, leave):
        group.command()(command)
    app.add_typer(group, name="task")


def request(
    app: Annotated[
        str, typer.Argument(metavar="TASK_MANAGER", help="Id of the registered agent that manages the task.")
    ],
    agent: As,
    invite: Annotated[
        list[str] | None, typer.Option(metavar="AGENT", help="Id of another participant; may be repeated.")
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of an initial conversation with all participants. Default: none is created.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Request a task from a task-manager, and wait for its decision.

    Example: [bold]symposia task request chair --as ann --invite ben --conversation "The door"[/bold]
    """
    hint = None if conversation is None else {"name": conversation}
    made = conversation_service().request_task(app, agent, invite or (), hint)
    if as_json:
        print_json(made.to_wire())
        return
    _print_task(made.task)
    if made.conversation is not None:
        typer.echo(f"Initial conversation: {made.conversation.id}")


def list_(agent: As, limit: Limit = 50, cursor: Cursor = None, as_json: AsJson = False) -> None:
    """List the tasks that an agent takes part in or manages, newest first.

    Example: [bold]symposia task list --as ann[/bold]
    """
    page = conversation_service().task_list(agent, limit=limit, cursor=cursor)
    if as_json:
        print_json({"tasks": [task.to_wire() for task in page.items], "cursor": page.cursor})
        return
    for task in page.items:
        _print_task(task)
    print_next_page(page.cursor)


def show(task: TaskId, agent: As, as_json: AsJson = False) -> None:
    """Show a task, for its participants and its task-manager.

    Example: [bold]symposia task show 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    _print_task(conversation_service().task_get(agent, task), as_json=as_json)


def close(task: TaskId, agent: As, as_json: AsJson = False) -> None:
    """Close a task and archive its conversations. Only for the task-manager.

    Example: [bold]symposia task close 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as chair[/bold]
    """
    _print_task(conversation_service().task_close(agent, task), as_json=as_json)


def add(task: TaskId, participant: Agent, agent: As, as_json: AsJson = False) -> None:
    """Add an agent to a task. Only for the task-manager.

    Example: [bold]symposia task add 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    _print_task(conversation_service().task_add_participant(agent, task, participant), as_json=as_json)


def remove(task: TaskId, participant: Agent, agent: As, as_json: AsJson = False) -> None:
    """Remove an agent from a task and its conversations. Only for the task-manager.

    Example: [bold]symposia task remove 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 cyd --as chair[/bold]
    """
    _print_task(conversation_service().task_remove_participant(agent, task, participant), as_json=as_json)


def leave(task: TaskId, agent: As, as_json: AsJson = False) -> None:
    """Leave a task and its conversations. When the last participant leaves, the task is closed.

    Example: [bold]symposia task leave 3f2a91c4-6c1c-4c58-9d4b-0a4f1f4f8c11 --as ann[/bold]
    """
    after = conversation_service().task_leave(agent, task)
    if after is not None:
        _print_task(after, as_json=as_json)
    elif as_json:
        print_json(None)
    else:
        typer.echo(f"{agent} takes no part in this task: nothing to leave.")


def _print_task(task: Task, *, as_json: bool = False) -> None:
    if as_json:
        print_json(task.to_wire())
        return
    why = f" ({task.reason})" if task.reason else ""
    who = ", ".join(task.agents) or "no participants"
    console().print(
        printable(f"{task.id}  {task.status.value:<8}{task.app}, managed by {task.task_manager}: {who}{why}")
    )
