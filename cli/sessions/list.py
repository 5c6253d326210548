"""`symposia list` and `search`: live and archived sessions, archived messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import MODE_NAMES, AsJson, Participant, Status, Tag, open_client, read_mode
from ..common.screen import console, print_json, printable

if TYPE_CHECKING:
    from rich.text import Text

    from ...archive.results import FoundMessage

#: Maximum number of characters shown of a found message.
_MAX_PREVIEW = 200

WantedStatus = Annotated[Status | None, typer.Option("--status", help="Only sessions in this status.")]
WantedMode = Annotated[
    str | None,
    typer.Option("--mode", parser=read_mode, metavar=MODE_NAMES, help="Only sessions in this mode."),
]
WantedThread = Annotated[
    str | None,
    typer.Option("--thread", metavar="ID", help="Only sessions of this thread: id of a session or a task."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only sessions opened at or after this time: a date, a date and time (UTC), or an age such as 2d.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="TIME", help="Only sessions opened before this time; same formats as --since."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list")(list_sessions)
    app.command()(search)


def list_sessions(  # noqa: PLR0913 - the options of a command
    status: WantedStatus = None,
    mode: WantedMode = None,
    participant: Participant = None,
    tag: Tag = None,
    thread: WantedThread = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of results.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List live and archived sessions, newest first.

    Example: [bold]symposia list --status active[/bold]
    """
    from itertools import islice

    from ...archive.results import SessionFilter
    from ..common.arguments import moment_ms
    from .rows import list_rows, session_table

    opened = moment_ms(since, option="--since"), moment_ms(until, option="--until")
    client = open_client()
    thread_id = thread and client.find_thread(thread)
    wanted = SessionFilter(status, mode, participant, tag, *opened, thread_id=thread_id)
    rows = list(islice(list_rows(client, wanted), limit))
    if as_json:
        print_json([row.to_json() for row in rows])
    elif rows:
        console().print(session_table(rows))
    else:
        console(stderr=True).print("No sessions.")


def search(  # noqa: PLR0913 - the options of a command
    words: Annotated[
        str, typer.Argument(metavar="TEXT", help="Words to find; a message must contain all of them.")
    ],
    status: WantedStatus = None,
    mode: WantedMode = None,
    participant: Participant = None,
    tag: Tag = None,
    thread: WantedThread = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of results.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Continue after this cursor, which the previous page printed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the messages in the archive, newest first. New messages are found after a few seconds.

    Example: [bold]symposia search "blue door" --mode pair[/bold]
    """
    from ...archive.results import ResultPage, SessionFilter
    from ..common.arguments import moment_ms

    opened = moment_ms(since, option="--since"), moment_ms(until, option="--until")
    client = open_client()
    thread_id = thread and client.find_thread(thread)
    wanted = SessionFilter(status, mode, participant, tag, *opened, thread_id=thread_id)
    reader = client.archived()
    page: ResultPage[FoundMessage] = ResultPage((), None)
    if reader is not None:
        page = reader.search(words, wanted, after=after, limit=limit)
    if as_json:
        print_json({"messages": [_found_json(message) for message in page.items], "cursor": page.cursor})
        return
    for message in page.items:
        console().print(_found_line(message))
    if not page.items:
        console(stderr=True).print("No messages found.")
    if page.cursor:
        console(stderr=True).print(f"More results: --after {page.cursor}")


def _found_json(message: FoundMessage) -> dict[str, object]:
    from ...models.text.ids import timestamp_from_ms

    return {
        "id": message.session_id,
        "title": message.title,
        "speaker": message.speaker,
        "turn": message.turn,
        "said_at": timestamp_from_ms(message.at_ms),
        "content": message.content,
    }


def _found_line(message: FoundMessage) -> Text:
    from rich.text import Text

    content = printable(" ".join(message.content.split()))
    cut = content if len(content) <= _MAX_PREVIEW else f"{content[:_MAX_PREVIEW]}…"
    turn = "" if message.turn is None else str(message.turn)
    return Text.assemble(
        (message.session_id[:8], "dim"),
        f" {turn:>4} ",
        (printable(message.speaker or "user"), "bold"),
        f" {cut}",
    )
