"""`symposia add`, `remove`, `instruct` and `post`: a session steered while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, SessionId

if TYPE_CHECKING:
    from ...job import CollabJob

Who = Annotated[str, typer.Argument(metavar="PARTICIPANT", help="The participant's id.")]
By = Annotated[
    str | None, typer.Option(help="Who wants it so, as the event tells.", show_default="your user name")
]
Key = Annotated[
    str | None,
    typer.Option(help="Of your choice: the same change sent again under the same key is made once."),
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (add, remove, instruct, post):
        app.command()(command)


def add(
    session: SessionId,
    participant: Who,
    agent: Annotated[
        str | None, typer.Option(help="The agent that sits there; without it, the one of the same name.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="The role id.")] = None,
    kind: Annotated[str, typer.Option(help="agent, human, system or external.")] = "agent",
    by: By = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Let somebody take part in a running session, from its next round on.

    Example: [bold]symposia add 3f2a91c4 critic --agent reviewer[/bold]
    """
    job = _job(session)
    who = {"participant_id": participant, "kind": kind} | ({"role_id": role} if role else {})
    job.add_participant(who, agent, by=_name(by), key=key)
    _tell(job, f"{participant} takes part from the next round on.", as_json=as_json)


def remove(
    session: SessionId, participant: Who, by: By = None, key: Key = None, as_json: AsJson = False
) -> None:
    """Let somebody take part in a running session no longer, from its next round on.

    Example: [bold]symposia remove 3f2a91c4 critic[/bold]
    """
    job = _job(session)
    job.remove_participant(participant, by=_name(by), key=key)
    _tell(job, f"{participant} takes no part from the next round on.", as_json=as_json)


def instruct(
    session: SessionId,
    participant: Who,
    text: Annotated[str, typer.Argument(help="Who it is and how it should answer; `-`: standard input.")],
    by: By = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Give a participant's agent other instructions, from its next turn on.

    Example: [bold]symposia instruct 3f2a91c4 writer "One sentence at most."[/bold]
    """
    job = _job(session)
    job.instruct(participant, _read(text), by=_name(by), key=key)
    _tell(job, f"{participant} is told so from the next turn on.", as_json=as_json)


def post(
    session: SessionId,
    text: Annotated[str, typer.Argument(help="The message; `-`: standard input.")],
    role: Annotated[str, typer.Option(help="user or system.")] = "user",
    by: By = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Say something to a running session, behind what is being said now.

    Example: [bold]symposia post 3f2a91c4 "The budget has changed: 40,000."[/bold]
    """
    job = _job(session)
    job.post(_read(text), role=role, by=_name(by), key=key)
    _tell(job, "It is said.", as_json=as_json)


def _job(session: str) -> CollabJob:
    from .find import find_job

    return find_job(session)


def _name(by: str | None) -> str:
    """Who steers: as they say, or as this machine calls them."""
    import getpass

    if by:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "user"


def _read(text: str) -> str:
    import sys

    return sys.stdin.read().strip() if text == "-" else text


def _tell(job: CollabJob, words: str, *, as_json: bool) -> None:
    from .screen import print_json

    if as_json:
        print_json({"id": job.id, "status": job.status().value})
    else:
        typer.echo(f"Session {job.id}: {words}")
