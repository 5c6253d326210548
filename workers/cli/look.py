"""`symposia show`, `watch`, `graph` and `export`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, SessionId

if TYPE_CHECKING:
    from ...job import CollabJob


class GraphFormat(StrEnum):
    """How a task graph is drawn."""

    MERMAID = "mermaid"
    DOT = "dot"
    TEXT = "text"


class ExportFormat(StrEnum):
    """Whose format a session is exported in."""

    JSON = "json"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    MARKDOWN = "markdown"


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (show, watch, graph, export):
        app.command()(command)


def show(
    session: SessionId,
    last: Annotated[int, typer.Option(min=0, help="Messages to show, the newest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show a session: its status, whose turn it is, what it spent, what was said.

    Example: [bold]symposia show 3f2a91c4[/bold]
    """
    from .details import details, details_json
    from .screen import console, print_json

    job = _job(session)
    if as_json:
        print_json(details_json(job))
        return
    screen = console()
    for line in details(job, screen, last=last):
        screen.print(line)


def watch(
    session: SessionId,
    as_json: AsJson = False,
    deltas: Annotated[
        bool, typer.Option("--deltas", help="With --json: also the words as they come.")
    ] = False,
) -> None:
    """Follow a session live, until it ends. Ctrl-C leaves it running.

    A terminal shows the words of models as they come. With --json every event is a line of its own.

    Example: [bold]symposia watch 3f2a91c4[/bold]
    """
    from .live import follow, moment_json
    from .render import ending, heading
    from .screen import console, print_json

    job = _job(session)
    try:
        if as_json:
            for moment in job.live(deltas=deltas):
                if moment is not None:
                    print_json(moment_json(moment), lines=True)
        else:
            screen = console()
            screen.print(heading(job.collab()))
            screen.print(ending(follow(job, screen, between=lambda: None)))
    except KeyboardInterrupt:
        console(stderr=True).print(f"Session {job.id} goes on.")
        raise
    if not job.result().ok:
        raise typer.Exit(1)


def graph(
    session: SessionId,
    form: Annotated[GraphFormat, typer.Option("--format", help="How it is drawn.")] = GraphFormat.TEXT,
) -> None:
    """Draw a session's tasks: which turn was planned by which, what ran side by side, what was lost.

    Example: [bold]symposia graph 3f2a91c4 --format mermaid[/bold]
    """
    typer.echo(_job(session).graph(form.value))


def export(
    session: SessionId,
    form: Annotated[ExportFormat, typer.Option("--format", help="Whose format.")] = ExportFormat.JSON,
    save: Annotated[bool, typer.Option("--save", help="Write markdown to ID.dialogue.md, here.")] = False,
) -> None:
    """Print a session as JSON: the protocol's own documents, or messages for a model's API.

    An alignment session can be printed as markdown, a dialogue document that `symposia lint` checks.

    Example: [bold]symposia export 3f2a91c4 --format openai > messages.json[/bold]
    """
    from ...models.conversations import to_anthropic_messages, to_openai_messages
    from .screen import print_json
    from .transcript import print_transcript, save_transcript

    job = _job(session)
    match form:
        case ExportFormat.JSON:
            print_json({"collab": job.collab().to_wire(), "dialog": job.dialog().to_wire()})
        case ExportFormat.OPENAI:
            print_json({"messages": to_openai_messages(job.dialog())})
        case ExportFormat.ANTHROPIC:
            system, messages = to_anthropic_messages(job.dialog())
            print_json({"system": system, "messages": messages} if system else {"messages": messages})
        case ExportFormat.MARKDOWN:
            (save_transcript if save else print_transcript)(job)


def _job(session: str) -> CollabJob:
    from .find import find_job

    return find_job(session)
