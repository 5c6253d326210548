"""`symposia inbox` and `symposia reply`: open questions to people, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, By, SessionId, actor_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from ....models.turns.waiting import Pending


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(inbox)
    app.command()(reply)


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
    # Users copy this line into a shell, so names are quoted. `--turn` prevents that a late answer reaches a
    # later question; an agent may ask several questions in one turn, so its question is named by the token.
    name = quote(it.asked[0])
    option = f"--turn {it.turn_number}" if it.is_own else f"--token {it.reply_token}"
    yield Text(printable(f"  symposia reply {it.session_id[:8]} {name} TEXT {option}"), style="dim")


def reply(
    session: SessionId,
    participant: Annotated[
        str, typer.Argument(help="Name of the person who answers, as shown by `symposia inbox`.")
    ],
    text: Annotated[
        str | None,
        typer.Argument(
            help="Text of the answer; without it, or with `-`, it is read from standard input. PASS skips the turn."
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="Answer only the question with this reply token.", show_default=False)
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(min=1, help="Turn number of the question; required if several questions are open."),
    ] = None,
    by: By = None,
    as_json: AsJson = False,
) -> None:
    """Answer an open question to a person. The session then continues.

    Example: [bold]symposia reply 3f2a91c4 editor "APPROVED: reads well"[/bold]
    """
    import sys

    from ..common.arguments import find_job
    from ..common.screen import print_json

    job = find_job(session)
    if text is None or text == "-":
        text = sys.stdin.read().strip()
    job.reply(participant, text, token=token, turn=turn, by=actor_name(by))
    if as_json:
        print_json({"id": job.id, "status": job.status().value, "participant": participant})
    else:
        typer.echo(f"Session {job.id}: answer of {participant} accepted.")
