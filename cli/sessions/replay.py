"""`symposia replay` and `symposia compare`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...models.text.words import count_of, dollars
from ..common.options import AsJson, SessionId, open_client
from ..common.screen import console, plain_table, print_json, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from ...models.errors import ReplayDiffers
    from ...models.protocol.dialog import Message
    from ...replay.comparing import DialogDifference, SessionComparison, SessionFigures
    from ...replay.replay import ReplayResult

FirstId = Annotated[str, typer.Argument(metavar="A", help="Session id, or at least its first 8 characters.")]
SecondId = Annotated[str, typer.Argument(metavar="B", help="The other session.")]
Rerun = Annotated[
    list[str] | None,
    typer.Option(
        "--rerun",
        metavar="NAME",
        help="Also run the Python callable or the program of this participant again, with its effects."
        " May be repeated.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (replay, compare):
        app.command()(command)


def replay(session: SessionId, rerun: Rerun = None, as_json: AsJson = False) -> None:
    """Replay a recorded session with the agents and planners as they are now.

    Model requests and tool calls are answered from the record: no request is sent, and nothing is written. The first
    difference is an error that names the turn, with exit code 1. A session that was not recorded has exit code 2.

    Example: [bold]symposia replay 3f2a91c4[/bold]
    """
    from ...models.errors import ReplayDiffers
    from ...workers.local.code_check import importing_as_workers

    try:
        with importing_as_workers():
            result = open_client().replay(session, rerun=rerun or ())
    except ReplayDiffers as error:
        if not as_json:
            raise
        print_json(_difference_json(error))
        raise typer.Exit(1) from None
    if as_json:
        print_json({"same": True, **asdict(result)})
    else:
        for line in _result_lines(result):
            console().print(line)


def compare(first: FirstId, second: SecondId, as_json: AsJson = False) -> None:
    """Compare two sessions: where their dialogs first differ, how they ended, and what they spent.

    The exit code is 0 if both have the same dialog and the same end, and 1 if not.

    Example: [bold]symposia compare 3f2a91c4 8be10d72[/bold]
    """
    comparison = open_client().compare(first, second)
    if as_json:
        print_json(comparison.to_json())
    else:
        screen = console()
        screen.print(_figures_table(comparison))
        for line in _difference_lines(comparison.difference):
            screen.print(line)
    if not comparison.is_same:
        raise typer.Exit(1)


def _difference_json(error: ReplayDiffers) -> dict[str, object]:
    return {
        "same": False,
        "session_id": error.session_id,
        "turn": error.turn,
        "participant": error.participant,
        "differences": list(error.differences),
    }


def _result_lines(result: ReplayResult) -> Iterator[str]:
    yield (
        f"✓ {count_of(result.turns, 'turn is', 'turns are')} the same; "
        f"{count_of(result.requests, 'model request')} and {count_of(result.tool_calls, 'tool call')} were answered from the record"
    )
    if result.taken:
        numbers = ", ".join(map(str, result.taken))
        yield f"recorded outcomes taken, agents not run again: turns {numbers}"
    if not result.plan_compared:
        yield "plans not compared: the roster was changed while the session ran"


def _figures_table(comparison: SessionComparison) -> Table:
    from .render import outcome

    def cost(figures: SessionFigures) -> str:
        return dollars(figures.usage.cost_micros)

    one, other = comparison.first, comparison.second
    table = plain_table("", one.id[:8], other.id[:8])
    rows = [
        ("title", printable(one.title), printable(other.title)),
        ("mode", one.mode, other.mode),
        (
            "end",
            outcome(one.status, one.reason, one.detail),
            outcome(other.status, other.reason, other.detail),
        ),
        ("turns", str(one.turns), str(other.turns)),
        ("rounds", str(one.rounds), str(other.rounds)),
        ("messages", str(one.messages), str(other.messages)),
        ("tokens", str(one.usage.tokens), str(other.usage.tokens)),
        ("cost", cost(one), cost(other)),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _difference_lines(difference: DialogDifference | None) -> Iterator[str]:
    if difference is None:
        yield "The dialogs are the same."
        return
    yield f"The dialogs differ from message {difference.position} on:"
    yield f"  A {_message_line(difference.first)}"
    yield f"  B {_message_line(difference.second)}"


def _message_line(message: Message | None) -> str:
    from ...models.text.redact import excerpt

    if message is None:
        return "has no such message"
    turn = "" if message.turn_number is None else f"turn {message.turn_number}, "
    return f"{turn}{printable(message.author or 'user')}: {printable(excerpt(message.content, 200))}"
