"""`symposia inbox`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from ....models.turns.waiting import Pending


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(inbox)


def inbox(
    participant: Annotated[
        str | None, typer.Option("--participant", "-p", help="Only questions to this participant id.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Maximum number of results, oldest first.")
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """List the open questions to people in all sessions, oldest first.

    Example: [bold]symposia inbox --participant editor[/bold]
    """
    from ....client import Client
    from ....config.settings import load_settings
    from ..common.screen import console, print_json

    questions = Client(load_settings()).inbox(participant, limit=limit)
    if as_json:
        print_json([it.model_dump(mode="json") for it in questions])
        return
    if not questions:
        console(stderr=True).print("No open questions.")
    screen = console()
    for it in questions:
        for line in _lines(it):
            screen.print(line)


def _lines(it: Pending) -> Iterator[Text]:
    from shlex import quote

    from rich.text import Text

    from ....models.text.ids import format_timestamp
    from ..common.screen import printable

    until = "" if it.until is None else f", until {format_timestamp(it.until)}"
    whose = "" if it.is_own else f", by {it.participant}"
    yield Text.assemble(
        (printable(", ".join(it.asked)), "bold"),
        f" is asked in turn {it.turn_number} of session {it.session_id[:8]}",
        printable(f" ({it.title}{whose}){until}"),
    )
    if it.question.text:
        yield Text(f"  {printable(it.question.text)}")
    if it.question.choices:
        yield Text(f"  one of: {printable(', '.join(it.question.choices))}")
    # To be copied into a shell, so names are quoted; `--turn` prevents that a late answer reaches a later question.
    name = quote(it.asked[0])
    yield Text(
        printable(f"  symposia reply {it.session_id[:8]} {name} TEXT --turn {it.turn_number}"), style="dim"
    )
