"""`symposia dialogue`: the parsed data of an alignment document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson
from .documents import read_document

if TYPE_CHECKING:
    from ....models.alignment.document import AlignmentDialogue


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(dialogue)


def dialogue(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Alignment documents; - reads standard input."),
    ] = None,
    as_json: AsJson = False,
    specification: Annotated[
        bool, typer.Option("--specification", help="Print the format of alignment documents.")
    ] = False,
) -> None:
    """Show the data of alignment documents: rounds and their experts, markers, scores, tensions.

    With --json, each file is one JSON object on one line.

    Example: [bold]symposia dialogue decision.dialogue.md --json[/bold]
    """
    from ....models.alignment.document import parse, specification_markdown, summary
    from ..common.screen import console, print_json, printable

    if specification:
        typer.echo(specification_markdown(), nl=False)
    elif not files:
        raise typer.BadParameter("FILE or --specification is required.")
    for name in files or ():
        document = parse(read_document(name))
        if as_json:
            print_json({"file": name, **summary(document)}, lines=True)
            continue
        for line in _summary_lines(name, document):
            console().print(printable(line), soft_wrap=True)


def _summary_lines(name: str, document: AlignmentDialogue) -> Iterator[str]:
    """Yield the lines that summarise the document."""
    from ....models.alignment.document import scoreboards, tensions

    yield f"{name}: {document.title or 'no title'}"
    for part in document.rounds:
        yield f"  Round {part.number}{': ' * bool(part.label)}{part.label}  [{', '.join(part.agents) or 'no experts'}]"
    counts = Counter(marker.type.value for marker in document.markers)
    yield "  Markers: " + (", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none")
    for board in scoreboards(document):
        yield f"  Scoreboard: {len(board.rows)} rows, total {board.sum if board.total is None else board.total}"
    for tension in tensions(document):
        yield f"  {tension.id} {tension.state.value}: {tension.label}"
