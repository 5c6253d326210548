"""`symposia list` and `search`: live and archived sessions, archived messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import AsJson, Participant, open_client
from ..common.screen import console, print_json, printable
from .filters import MAX_LIMIT, find_thread, with_filters

if TYPE_CHECKING:
    from rich.text import Text

    from ...archive.results import FoundMessage
    from ...client import Client
    from ...models.sessions.query import SessionQuery

#: Maximum number of characters shown of a found message.
_MAX_PREVIEW = 200

Sort = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="ORDER",
        help="Order: activity, opened, cost, tokens, duration or turns, greatest or newest first, or title.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("list")(list_sessions)
    app.command()(search)


@with_filters
def list_sessions(
    *,
    query: SessionQuery,
    participant: Participant = None,
    sort: Sort = "opened",
    group: Annotated[
        str,
        typer.Option(
            "--group",
            metavar="BY",
            help="Count sessions, failures and cost by agent, error, tenant or tag. Most failures first; with "
            "--sort cost, most expensive first. The cost of an agent is that of its own turns.",
        ),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, help="Maximum number of results.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List live and archived sessions, newest first. Below, a line for each that does not move says why.

    Example: [bold]symposia list --status failed --since 24h --sort cost[/bold]
    """
    from itertools import islice, tee

    from ...client.session_rows import NEWEST_FIRST, all_live, list_rows
    from .coverage import print_coverage
    from .rows import attention_lines, session_table

    client, screen = open_client(), console()
    ordered = find_thread(client, query).changed(sort=_order(sort), group=_group(group, participant))
    if ordered.group:
        _print_groups(client, ordered, limit=limit, as_json=as_json)
        return
    live, again = tee(all_live(client))  # read once, and only as far as needed
    found = list(
        islice(
            list_rows(client, ordered, participant=participant, live=live, on_outage=_print_outage), limit + 1
        )
    )
    rows = found[:limit]
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    if rows:
        screen.print(session_table(rows, in_tree=ordered.sort == NEWEST_FIRST))
    for line in attention_lines(screen, rows):
        screen.print(line)
    count = len(found)
    print_coverage(client, ordered, "session", found=count, limit=limit, live=again, participant=participant)


def _print_outage(error: Exception) -> None:
    console(stderr=True).print(
        f"Redis is unavailable, listing only archived sessions that have ended: {error}"
    )


def _group(name: str, participant: str | None) -> str:
    """Return what sessions are counted by; empty: they are listed."""
    from ...models.errors import InvalidInput
    from ...models.sessions.query import GROUPS

    if name and name not in GROUPS:
        raise InvalidInput("--group", name, f"must be one of {', '.join(GROUPS)}")
    if name and participant is not None:
        raise InvalidInput("--participant", participant, "must not be given with --group; --agent may be")
    return name


def _print_groups(client: Client, query: SessionQuery, *, limit: int, as_json: bool) -> None:
    from dataclasses import asdict

    from ...client.session_rows import all_live
    from .coverage import group_table, list_groups, print_coverage

    live = list(all_live(client))
    found = list_groups(client, query, live)
    groups = found[:limit]
    if as_json:
        print_json([asdict(group) for group in groups])
        return
    if groups:
        console().print(group_table(groups, query.group))
    print_coverage(client, query, "group", found=len(found), limit=limit, live=live)


def _order(text: str) -> str:
    """Return the order of a query: the greatest or newest first, and titles from A to Z."""
    from ...models.errors import InvalidInput
    from ...models.sessions.query import SORT_FIELDS

    name = text.removeprefix("-")  # as in the address of the page
    if name not in SORT_FIELDS:
        raise InvalidInput("--sort", text, f"must be one of {', '.join(SORT_FIELDS)}")
    return name if name == "title" else f"-{name}"


@with_filters
def search(
    words: Annotated[
        str, typer.Argument(metavar="TEXT", help="Words to find; a message must contain all of them.")
    ],
    *,
    query: SessionQuery,
    participant: Participant = None,
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
    from ...models.errors import InvalidInput

    if query.attention:
        raise InvalidInput(
            "--attention", ",".join(query.attention), "must not be given: it is of live sessions"
        )
    client = open_client()
    wanted = SessionFilter(participant=participant, query=find_thread(client, query))
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
