"""`symposia continue` and `symposia fork`: new sessions from earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, SessionId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...jobs.collab import CollabJob

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent", metavar="NAME=AGENT", help="Another agent for a participant; may be given several times."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("continue")(continue_session)
    app.command()(fork)


def continue_session(
    session: SessionId,
    text: Annotated[str, typer.Argument(help="First message; `-` reads standard input.")],
    agent: Agents = None,
    as_json: AsJson = False,
) -> None:
    """Continue a session that has ended, in a new session of the same thread; print its id.

    The agents see the messages of the earlier session before those of the new one.

    Example: [bold]symposia continue 3f2a91c4 "And now in French?"[/bold]
    """
    from ..common.arguments import find_job, read_text

    job = find_job(session).continue_with(read_text(text), agents=dict(_pairs(agent, option="--agent")))
    _print_new(job, as_json=as_json)


def fork(
    session: SessionId,
    at_turn: Annotated[int, typer.Option("--at-turn", help="Number of the turn that is planned again.")],
    instruct: Annotated[
        list[str] | None,
        typer.Option(
            "--instruct",
            metavar="NAME=TEXT",
            help="An instruction for a participant's agent; may be given several times.",
        ),
    ] = None,
    agent: Agents = None,
    as_json: AsJson = False,
) -> None:
    """Begin a new session from the state before a turn of another one; print its id.

    Example: [bold]symposia fork 3f2a91c4 --at-turn 7 --instruct writer="One sentence at most."[/bold]
    """
    from ..common.arguments import find_job

    job = find_job(session).fork(
        at_turn=at_turn,
        instruct=dict(_pairs(instruct, option="--instruct")),
        agents=dict(_pairs(agent, option="--agent")),
    )
    _print_new(job, as_json=as_json)


def _pairs(values: Sequence[str] | None, *, option: str) -> list[tuple[str, str]]:
    from ...models.errors import InvalidInput

    pairs = []
    for value in values or ():
        name, sign, text = value.partition("=")
        if not (name and sign and text):
            raise InvalidInput(option, value, "must be NAME=VALUE")
        pairs.append((name, text))
    return pairs


def _print_new(job: CollabJob, *, as_json: bool) -> None:
    from ..common.screen import print_json

    if as_json:
        print_json({"id": job.id, "thread_id": job.spec.thread_id})
    else:
        typer.echo(job.id)
