"""`symposia repair`: protocol documents of other writers in a form that is valid under the schemas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

_STANDARD_INPUT = "-"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(repair)


def repair(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Collab, dialog, message or MAP event; - reads standard input."),
    ],
) -> None:
    """Print a protocol document (JSON) in a valid form, and each repair on standard error.

    Repaired are known deviations, such as prefixes of ids, names in camelCase and times without a zone. What a repair
    would have to guess is refused.

    Example: [bold]symposia repair collab.json > valid.json[/bold]
    """
    from ...models.errors import InvalidInput
    from ...models.protocol.reading import read_document
    from ...models.text.redact import excerpt
    from ..common.screen import console, print_json, printable

    try:
        data = sys.stdin.buffer.read() if file == _STANDARD_INPUT else Path(file).read_bytes()
    except OSError as error:
        raise InvalidInput("FILE", file, f"cannot be read: {error.strerror}") from None
    found = read_document(data)
    for it in found.repairs:
        after = "left out" if it.after is None else excerpt(str(it.after))
        line = f"{it.field}: {excerpt(str(it.before))} -> {after} ({it.rule})"
        console(stderr=True).print(printable(line), soft_wrap=True)
    print_json(found.value.to_wire())
