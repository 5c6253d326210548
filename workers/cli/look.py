"""`symposia show`, `watch`, `graph` and `export`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

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
    MAP_EVENTS = "map-events"
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
    form: Annotated[ExportFormat, typer.Option("--format", help="Output format.")] = ExportFormat.JSON,
    seen_by: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="With openai or anthropic: as seen by this participant. Its own messages become the"
            " assistant's, those of all others the user's.",
        ),
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Write markdown to ID.dialogue.md, here.")] = False,
) -> None:
    """Print a session as JSON: the protocol's own documents, its MAP events, or messages for a model's API.

    An alignment session can be printed as markdown, a dialogue document that `symposia lint` checks.

    Example: [bold]symposia export 3f2a91c4 --format openai > messages.json[/bold]
    """
    from .screen import print_json
    from .transcript import print_transcript, save_transcript

    job = _job(session)
    if seen_by is not None and form not in (ExportFormat.OPENAI, ExportFormat.ANTHROPIC):
        raise typer.BadParameter("needs --format openai or --format anthropic", param_hint="--as")
    match form:
        case ExportFormat.JSON:
            print_json({"collab": job.collab().to_wire(), "dialog": job.dialog().to_wire()})
        case ExportFormat.OPENAI | ExportFormat.ANTHROPIC:
            print_json(_messages_for(form, job, seen_by))
        case ExportFormat.MAP_EVENTS:
            print_json({"session_id": job.id, "events": [event.to_wire() for event in job.events()]})
        case ExportFormat.MARKDOWN:
            (save_transcript if save else print_transcript)(job)


def _messages_for(form: ExportFormat, job: CollabJob, seen_by: str | None) -> dict[str, Any]:
    """The dialog as a request of a model's API has it. Raises InvalidInput for an unknown participant."""
    from ...models.conversations import Reader, to_anthropic_messages, to_openai_messages
    from ...models.errors import InvalidInput

    collab, dialog = job.collab(), job.dialog()
    names = {it.participant_id: it.display_name or it.participant_id for it in collab.participants}
    # Somebody who was removed from the session is not in the roster any more, but in the dialog.
    known = {*names, *(it.speaker for it in dialog.messages if it.speaker)}
    if seen_by is not None and seen_by not in known:
        raise InvalidInput("--as", seen_by, f"must be a participant: {', '.join(sorted(known))}")
    reader = Reader(names, me=seen_by, opening=collab.purpose)
    if form is ExportFormat.OPENAI:
        return {"messages": to_openai_messages(dialog, reader)}
    system, messages = to_anthropic_messages(dialog, reader)
    return {"system": system, "messages": messages} if system else {"messages": messages}


def _job(session: str) -> CollabJob:
    from .find import find_job

    return find_job(session)
