"""`symposia dialogue`: what is read of a dialogue document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from .documents import read_document
from .options import AsJson

if TYPE_CHECKING:
    from ...models.dialogue import AlignmentDialogue


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(dialogue)


def dialogue(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="Dialogue documents; - is standard input.")
    ] = None,
    as_json: AsJson = False,
    specification: Annotated[
        bool, typer.Option("--specification", help="Print how such documents are written.")
    ] = False,
) -> None:
    """Show what is read of alignment dialogues: rounds and who speaks in them, markers, scores, tensions.

    With --json one object for each file, on a line of its own.

    Example: [bold]symposia dialogue decision.dialogue.md --json[/bold]
    """
    from ...models.dialogue import parse, specification_markdown, summary
    from .screen import console, print_json, printable

    if specification:
        typer.echo(specification_markdown(), nl=False)
    elif not files:
        raise typer.BadParameter("Name a FILE, or ask for --specification.")
    for name in files or ():
        document = parse(read_document(name))
        if as_json:
            print_json({"file": name, **summary(document)}, lines=True)
            continue
        for line in _told(name, document):
            console().print(printable(line), soft_wrap=True)


def _told(name: str, document: AlignmentDialogue) -> Iterator[str]:
    """The document in a few lines."""
    from ...models.dialogue import scoreboards, tensions

    yield f"{name}: {document.title or 'without a title'}"
    for part in document.rounds:
        yield f"  Round {part.number}{': ' * bool(part.label)}{part.label}  [{', '.join(part.agents) or 'nobody'}]"
    counts = Counter(marker.type.value for marker in document.markers)
    yield "  Markers: " + (", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none")
    for board in scoreboards(document):
        yield f"  Scoreboard: {len(board.rows)} rows, total {board.sum if board.total is None else board.total}"
    for tension in tensions(document):
        yield f"  {tension.id} {tension.state.value}: {tension.label}"
