"""`symposia show`, `watch`, `graph`, `export` and `attachments`: what a session is, and has said."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.options import AsJson, SessionId, find_job
from ..common.screen import console, plain_table, print_json, printable

if TYPE_CHECKING:
    from ...jobs.collab import CollabJob


class GraphFormat(StrEnum):
    """Formats of a graph of Celery tasks."""

    MERMAID = "mermaid"
    DOT = "dot"
    TEXT = "text"


class ExportFormat(StrEnum):
    """Formats of an exported session."""

    JSON = "json"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    MAP_EVENTS = "map-events"
    MARKDOWN = "markdown"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (show, watch, graph, export, attachments):
        app.command()(command)


def show(
    session: SessionId,
    last: Annotated[
        int, typer.Option(min=0, help="Number of messages to show, counted from the newest.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show a session: status, open turns, usage and messages.

    Example: [bold]symposia show 3f2a91c4[/bold]
    """
    from ...config.settings import load_settings
    from .render import details, details_json

    job, stuck_ms = find_job(session), int(load_settings().stuck_after_s * 1000)
    if as_json:
        print_json(details_json(job, stuck_ms=stuck_ms))
        return
    screen = console()
    for line in details(job, screen, last=last, stuck_ms=stuck_ms):
        screen.print(line)


def watch(
    session: SessionId,
    as_json: AsJson = False,
    deltas: Annotated[
        bool,
        typer.Option(
            "--deltas",
            help="With --json: also print partial output while a model generates it, and its tool calls.",
        ),
    ] = False,
) -> None:
    """Follow a session live until it ends. The session continues after Ctrl-C.

    A terminal shows the output of models while they generate it. With --json, each event is one line.

    Example: [bold]symposia watch 3f2a91c4[/bold]
    """
    from .live_render import follow, moment_json
    from .render import heading, result_line

    job = find_job(session)
    try:
        if as_json:
            for moment in job.live(deltas=deltas):
                if moment is not None:
                    print_json(moment_json(moment), lines=True)
        else:
            screen = console()
            screen.print(heading(job.collab()))
            screen.print(result_line(follow(job, screen, between=lambda: None)))
    except KeyboardInterrupt:
        console(stderr=True).print(
            f"Stopped watching. Session {job.id} continues. To cancel it: symposia cancel {job.id}"
        )
        raise
    if not job.result().ok:
        raise typer.Exit(1)


def graph(
    session: SessionId,
    form: Annotated[GraphFormat, typer.Option("--format", help="Output format.")] = GraphFormat.TEXT,
) -> None:
    """Draw the Celery tasks of a session as a graph: their order, parallel turns and lost turns.

    Example: [bold]symposia graph 3f2a91c4 --format mermaid[/bold]
    """
    typer.echo(find_job(session).graph(form.value))


def export(
    session: SessionId,
    form: Annotated[ExportFormat, typer.Option("--format", help="Output format.")] = ExportFormat.JSON,
    seen_by: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="With --format openai or anthropic: export the view of this participant. Its own messages have"
            " the role assistant, all others the role user.",
        ),
    ] = None,
    save: Annotated[
        bool,
        typer.Option("--save", help="With --format markdown: write to ID.dialogue.md in the current folder."),
    ] = False,
) -> None:
    """Export a session: as JSON objects of MPLP, as MAP events, as messages for a model API, or as Markdown.

    Markdown is for alignment sessions: an alignment document that `symposia lint` checks.

    Example: [bold]symposia export 3f2a91c4 --format openai > messages.json[/bold]
    """
    from .render import print_transcript, save_transcript

    job = find_job(session)
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
    """Return the dialog as messages of a model API. Raises InvalidInput for an unknown participant."""
    from ...models.errors import InvalidInput
    from ...models.turns.message_lists import Reader, to_anthropic_messages, to_openai_messages

    collab, dialog = job.collab(), job.dialog()
    names = {
        participant.participant_id: participant.display_name or participant.participant_id
        for participant in collab.participants
    }
    # A removed participant is in the dialog, but no longer in the roster.
    speakers = {*names, *(message.speaker for message in dialog.messages if message.speaker)}
    if seen_by is not None and seen_by not in speakers:
        raise InvalidInput("--as", seen_by, f"must be a participant: {', '.join(sorted(speakers))}")
    reader = Reader(names, me=seen_by, opening=collab.purpose)
    if form is ExportFormat.OPENAI:
        return {"messages": to_openai_messages(dialog, reader)}
    system, messages = to_anthropic_messages(dialog, reader)
    return {"system": system, "messages": messages} if system else {"messages": messages}


def attachments(
    session: SessionId,
    wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|SHA256]...",
            help="Only these files: names, or 8 or more characters of a digest (default all).",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FOLDER", help="Write the files into this folder, which is made."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --save: replace existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the files of a session's messages, live or archived, or write them into a folder.

    Example: [bold]symposia attachments 3f2a91c4 --save files[/bold]
    """
    from rich.text import Text

    from ...jobs.attachments import choose_attachments, save_attachments
    from .render import size_of

    if force and save is None:
        raise typer.BadParameter("needs --save FOLDER", param_hint="--force")
    job = find_job(session)
    chosen = choose_attachments(job.attachments(), wanted or ())
    paths: list[Path] = []
    if save is not None:
        paths = save_attachments(chosen, save, read=job.attachment_data, force=force)
    if as_json:
        entries = [attachment.model_dump(mode="json") for attachment in chosen]
        for entry, path in zip(entries, paths, strict=False):
            entry["path"] = str(path)
        print_json({"session_id": job.id, "attachments": entries})
    elif paths:
        for path in paths:
            console().print(f"Saved {printable(str(path))}", markup=False, highlight=False, soft_wrap=True)
    elif chosen:
        table = plain_table("NAME", "TYPE", "SIZE", "SHA256", pad_edge=True)
        for attachment in chosen:
            table.add_row(
                Text(printable(attachment.name)),
                attachment.media_type,
                size_of(attachment.size),
                attachment.sha256[:12],
            )
        console().print(table)
    else:
        console().print("No attachments.")
