"""`symposia attachments`: list and save the files of a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, SessionId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ...models.attachments import Attachment


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(attachments)


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
    from ...client import Client
    from ...config.settings import load_settings
    from ...jobs.attachments import choose_attachments, save_attachments
    from ..common.screen import console, print_json, printable

    if force and save is None:
        raise typer.BadParameter("needs --save FOLDER", param_hint="--force")
    job = Client(load_settings()).get_job(session)
    chosen = choose_attachments(job.attachments(), wanted or ())
    paths: list[Path] = []
    if save is not None:
        paths = save_attachments(chosen, save, read=job.attachment_data, force=force)
    if as_json:
        found = [it.model_dump(mode="json") for it in chosen]
        for entry, path in zip(found, paths, strict=False):
            entry["path"] = str(path)
        print_json({"session_id": job.id, "attachments": found})
    elif paths:
        for path in paths:
            console().print(f"Saved {printable(str(path))}", markup=False, highlight=False, soft_wrap=True)
    elif chosen:
        console().print(_table(chosen))
    else:
        console().print("No attachments.")


def _table(found: Sequence[Attachment]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ..common.screen import printable
    from .render import size_of

    table = Table("NAME", "TYPE", "SIZE", "SHA256", box=None)
    for it in found:
        table.add_row(Text(printable(it.name)), it.media_type, size_of(it.size), it.sha256[:12])
    return table
