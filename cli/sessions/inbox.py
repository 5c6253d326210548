"""`symposia inbox` and `symposia reply`: open questions to people, and their answers."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common.options import AsJson, By, SessionId, actor_name, find_job, open_client
from ..common.screen import console, print_json


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
    """List the open questions to people in all sessions, oldest first, each after the last messages of its session.

    Example: [bold]symposia inbox --participant editor[/bold]
    """
    from contextlib import suppress

    from ...models.errors import SessionNotFound
    from .questions import last_message_lines, notice_line, question_heading, question_lines, reply_command

    client = open_client()
    questions = client.inbox(participant, limit=limit)
    if as_json:
        print_json([question.model_dump(mode="json") for question in questions])
        return
    if not questions:
        console(stderr=True).print("No open questions.")
    screen = console()
    for question in questions:
        screen.print(question_heading(question))
        with suppress(SessionNotFound):  # it has expired since
            for line in last_message_lines(client.get_job(question.session_id), screen):
                screen.print(line)
        if question.notice_failed:
            screen.print(notice_line(question))
        for line in (*question_lines(screen, question), reply_command(question)):
            screen.print(line)


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

    job = find_job(session)
    if text is None or text == "-":
        text = sys.stdin.read().strip()
    job.reply(participant, text, token=token, turn=turn, by=actor_name(by))
    if as_json:
        print_json({"id": job.id, "status": job.status().value, "participant": participant})
    else:
        typer.echo(f"Session {job.id}: answer of {participant} accepted.")
