"""`symposia inbox`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from ...models.waiting import Pending


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(inbox)


def inbox(
    participant: Annotated[
        str | None, typer.Option("--participant", "-p", help="Only questions to this person.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many, the oldest.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List the questions that people have not answered yet, oldest first, of all sessions.

    Example: [bold]symposia inbox --participant editor[/bold]
    """
    from ...client import Client
    from ...config.settings import load_settings
    from .screen import console, print_json

    questions = Client(load_settings()).inbox(participant, limit=limit)
    if as_json:
        print_json([it.model_dump(mode="json") for it in questions])
        return
    if not questions:
        console(stderr=True).print("Nobody is asked anything.")
    screen = console()
    for it in questions:
        for line in _lines(it):
            screen.print(line)


def _lines(it: Pending) -> Iterator[Text]:
    from shlex import quote

    from rich.text import Text

    from ...models.ids import format_timestamp
    from .screen import printable

    until = "" if it.until is None else f", until {format_timestamp(it.until)}"
    whose = "" if it.is_own else f", by {it.participant}"
    yield Text.assemble(
        (printable(", ".join(it.asked)), "bold"),
        f" is asked in turn {it.turn_number} of {it.session_id[:8]}",
        printable(f" ({it.title}{whose}){until}"),
    )
    if it.question.text:
        yield Text(f"  {printable(it.question.text)}")
    if it.question.choices:
        yield Text(f"  one of: {printable(', '.join(it.question.choices))}")
    # Made for copying into a shell, whatever people are called; the turn keeps a late answer from another question.
    name = quote(it.asked[0])
    yield Text(
        printable(f"  symposia reply {it.session_id[:8]} {name} TEXT --turn {it.turn_number}"), style="dim"
    )
