"""`symposia dialogue`, and the reader of alignment documents, which `symposia lint` also uses."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson

if TYPE_CHECKING:
    from ....models.alignment.document import AlignmentDialogue

Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Alignment documents; - reads standard input.")
]
STANDARD_INPUT = "-"


def read_document(name: str) -> str:
    """Return the text of a file or of standard input, with unchanged line ends.

    Raises:
        InvalidInput: the file cannot be read, or is not UTF-8 text.
    """
    from ....models.errors import InvalidInput

    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput("FILE", name, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("FILE", name, f"must be UTF-8 text, but byte {error.start} is invalid") from None


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
