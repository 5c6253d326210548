"""Terminal output without control characters.

The text of participants may come from a model. So control characters never reach the
terminal, and text is never interpreted as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Columns of output without a terminal: the program that reads it wraps the lines.
_PIPE_WIDTH = 1_000


def console(*, stderr: bool = False) -> Console:
    """Return a console for human-readable output, on standard output or standard error."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def output_printer(screen: Console, *, verbose: bool) -> Callable[[str, str], None]:
    """Return a function that prints a line of a service with its name, if `verbose`."""

    def print_line(service: str, line: str) -> None:
        if verbose:
            screen.print(f"{service} | {printable(line)}", style="dim")

    return print_line


def plain_table(*names: str, right: Collection[str] = (), pad_edge: bool = False) -> Table:
    """Return a table without lines; the columns named in `right` are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=pad_edge)
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    return table


def print_json(data: object, *, lines: bool = False) -> None:
    """Print data as JSON on standard output; with `lines` on one line, flushed."""
    from ...models.text.redact import json_text

    print(json_text(data, indent=None if lines else 2), flush=lines)  # noqa: T201 - the one place that does


def print_document(text: str) -> None:
    """Print a document of several lines, made `printable` except for its tabs."""
    typer.echo("\t".join(map(printable, text.split("\t"))), nl=not text.endswith("\n"))


def printable(text: str) -> str:
    """Return `text` with each invisible character except line breaks replaced by a space."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
