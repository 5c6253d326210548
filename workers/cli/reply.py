"""`symposia reply`."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import AsJson, SessionId


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(reply)


def reply(
    session: SessionId,
    participant: Annotated[str, typer.Argument(help="In whose name, as `symposia inbox` shows it.")],
    text: Annotated[
        str | None, typer.Argument(help="The answer; `-` or none: standard input. PASS passes the turn.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="The question with this reply token, and no other.", show_default=False)
    ] = None,
    turn: Annotated[
        int | None, typer.Option(min=1, help="The question of this turn; needed where more than one is open.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer the open question to a person, and let the session go on.

    Example: [bold]symposia reply 3f2a91c4 editor "APPROVED: reads well"[/bold]
    """
    import sys

    from .find import find_job
    from .screen import print_json

    job = find_job(session)
    if text is None or text == "-":
        text = sys.stdin.read().strip()
    job.reply(participant, text, token=token, turn=turn)
    if as_json:
        print_json({"id": job.id, "status": job.status().value, "participant": participant})
    else:
        typer.echo(f"Session {job.id}: the answer of {participant} is in.")
