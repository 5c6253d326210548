"""Options that several commands share, and what commands make of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...client import Client
    from ...jobs.collab import CollabJob


def read_mode(name: str) -> str:
    """Return the name of a mode.

    Refuse any other. The modes are imported here, because the import is slow.
    """
    from ...models.modes import modes

    mode_names = [mode.name for mode in modes()]
    if name not in mode_names:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, mode_names))}.")
    return name


#: The modes in help texts, which must not import them.
MODE_NAMES = "[round_robin|orchestrated|pair|broadcast|swarm]"
Attach = Annotated[
    list[Path] | None,
    typer.Option(
        "--attach", metavar="FILE", help="Attach a file to the message; may be given several times."
    ),
]
Approvers = Annotated[
    list[str] | None,
    typer.Option(
        "--approver",
        metavar="NAME",
        help="Person without turns who may be asked, and who decides approvals; may be given several times.",
    ),
]
Observers = Annotated[
    list[str] | None,
    typer.Option(
        "--observer",
        metavar="NAME",
        help="Person without turns who may be asked; may be given several times.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Tag = Annotated[str | None, typer.Option("--tag", help="Only sessions with this tag.")]
Participant = Annotated[
    str | None, typer.Option("--participant", help="Only sessions with this participant id.")
]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", help="Review only files that match this pattern; may be repeated."),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="Skip files that match this pattern; may be repeated.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the log of the worker.")]
SessionId = Annotated[
    str, typer.Argument(metavar="ID", help="Session id, or at least its first 8 characters.")
]
By = Annotated[
    str | None, typer.Option(help="Name of the actor, recorded in the event.", show_default="your user name")
]


def actor_name(by: str | None) -> str:
    """Return the actor's name: `by`, or the user name of this process."""
    import getpass

    if by:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "user"


def open_client() -> Client:
    """Return a client of the installation in use."""
    from ...client import Client
    from ...config.settings import load_settings

    return Client(load_settings())


def find_job(text: str) -> CollabJob:
    """Return the session with this id, or the one whose id starts with it. Raises as `Client.get_job`."""
    return open_client().get_job(text)


def read_text(text: str) -> str:
    """Return the text of an argument; for `-`, that of standard input."""
    return sys.stdin.read().strip() if text == "-" else text
