"""`symposia reply`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common.options import AsJson, SessionId


def add_reply_command(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reply)


def reply(
    session: SessionId,
    participant: Annotated[
        str, typer.Argument(help="Name of the person who answers, as shown by `symposia inbox`.")
    ],
    text: Annotated[
        str | None,
        typer.Argument(
            help="The answer; without it, or with `-`, standard input is read. PASS passes the turn."
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="Answer only the question with this reply token.", show_default=False)
    ] = None,
    turn: Annotated[
        int | None,
        typer.Option(min=1, help="Turn number of the question; required if several questions are open."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer an open question to a person. The session then continues.

    Example: [bold]symposia reply 3f2a91c4 editor "APPROVED: reads well"[/bold]
    """
    import sys

    from ..common.ids import find_job
    from ..common.screen import print_json

    job = find_job(session)
    if text is None or text == "-":
        text = sys.stdin.read().strip()
    job.reply(participant, text, token=token, turn=turn)
    if as_json:
        print_json({"id": job.id, "status": job.status().value, "participant": participant})
    else:
        typer.echo(f"Session {job.id}: answer of {participant} accepted.")
