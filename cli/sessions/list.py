"""`symposia list` and `search`: live and archived sessions, archived messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..common.options import MODE_NAMES, AsJson, Status, read_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.text import Text

    from ...archive.results import FoundMessage, ListedSession, SessionFilter
    from ...client import Client
    from ...jobs.collab import CollabJob
    from .render import SessionListRow, UnreadableRow

#: Sessions per page that is read from the archive.
_PAGE = 100
#: Maximum number of characters shown of a found message.
_MAX_PREVIEW = 200

WantedStatus = Annotated[Status | None, typer.Option("--status", help="Only sessions in this status.")]
WantedMode = Annotated[
    str | None,
    typer.Option("--mode", parser=read_mode, metavar=MODE_NAMES, help="Only sessions in this mode."),
]
WantedParticipant = Annotated[
    str | None, typer.Option("--participant", help="Only sessions with this participant id.")
]
WantedTag = Annotated[str | None, typer.Option("--tag", help="Only sessions with this tag.")]
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
    participant: WantedParticipant = None,
    tag: WantedTag = None,
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
    from ...client import Client
    from ...config.settings import load_settings
    from ..common.arguments import moment_ms
    from ..common.screen import console, print_json
    from .render import session_table

    opened = moment_ms(since, option="--since"), moment_ms(until, option="--until")
    client = Client(load_settings())
    thread_id = thread and client.find_thread(thread)
    wanted = SessionFilter(status, mode, participant, tag, *opened, thread_id=thread_id)
    found = list(islice(_sessions(client, wanted), limit))
    if as_json:
        print_json([it.to_json() for it in found])
    elif found:
        console().print(session_table(found))
    else:
        console(stderr=True).print("No sessions.")


def search(  # noqa: PLR0913 - the options of a command
    words: Annotated[
        str, typer.Argument(metavar="TEXT", help="Words to find; a message must contain all of them.")
    ],
    status: WantedStatus = None,
    mode: WantedMode = None,
    participant: WantedParticipant = None,
    tag: WantedTag = None,
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
    from ...client import Client
    from ...config.settings import load_settings
    from ..common.arguments import moment_ms
    from ..common.screen import console, print_json

    opened = moment_ms(since, option="--since"), moment_ms(until, option="--until")
    client = Client(load_settings())
    thread_id = thread and client.find_thread(thread)
    wanted = SessionFilter(status, mode, participant, tag, *opened, thread_id=thread_id)
    reader = client.archived()
    page: ResultPage[FoundMessage] = (
        ResultPage((), None) if reader is None else reader.search(words, wanted, after=after, limit=limit)
    )
    if as_json:
        print_json({"messages": [_found_json(it) for it in page.items], "cursor": page.cursor})
        return
    for it in page.items:
        console().print(_found_line(it))
    if not page.items:
        console(stderr=True).print("No messages found.")
    if page.cursor:
        console(stderr=True).print(f"More results: --after {page.cursor}")


def _sessions(client: Client, wanted: SessionFilter) -> Iterator[SessionListRow | UnreadableRow]:
    """Yield live and archived sessions, newest first; without Redis, only archived ones that have ended."""
    from heapq import merge

    from ...models.errors import RedisUnavailable
    from ...state.redis.connect import check_reachable, connect
    from ...state.sessions.archiving import is_live
    from ..common.screen import console

    try:
        redis = connect(client.redis_url)
        check_reachable(redis, client.redis_url)
    except RedisUnavailable as error:
        if client.archived() is None:
            raise
        console(stderr=True).print(
            f"Redis is unavailable, listing only archived sessions that have ended: {error}"
        )
        return _archived(client, wanted, is_live=lambda it: it.fields.get("ended_ms") is None)
    archived = _archived(client, wanted, is_live=lambda it: is_live(redis, it.session_id, it.opened_ms))
    return merge(_live(client, wanted), archived, key=lambda it: it.opened_ms, reverse=True)


def _live(client: Client, wanted: SessionFilter) -> Iterator[SessionListRow | UnreadableRow]:
    from functools import partial

    from ...archive.results import SessionFilter
    from ...client.client import installation_of
    from ...models.errors import SessionNotFound
    from ...state.redis.readers import Unreadable, read_record
    from .render import SessionListRow, UnreadableRow

    for job, listed_ms in installation_of(client).sessions.iterate_live():
        try:
            row = job if isinstance(job, Unreadable) else read_record("session", job.id, partial(_row, job))
        except SessionNotFound:  # it has expired since
            continue
        if isinstance(row, SessionListRow):
            if _fits(row, wanted):
                yield row
        elif wanted == SessionFilter():
            yield UnreadableRow(row.name, listed_ms, row.why)


def _row(job: CollabJob) -> SessionListRow:
    from .render import SessionListRow

    parent = job.parent.session_id if job.parent else None
    row = SessionListRow(job.collab(), job.state(), parent, job.spec.thread_id)
    row.to_json()  # reads each field
    return row


def _archived(
    client: Client, wanted: SessionFilter, *, is_live: Callable[[ListedSession], bool]
) -> Iterator[SessionListRow | UnreadableRow]:
    from functools import partial

    from ...state.redis.readers import read_record
    from .render import SessionListRow, UnreadableRow

    reader, cursor = client.archived(), None
    while reader is not None:
        page = reader.page(wanted, after=cursor, limit=_PAGE)
        for it in page.items:
            if read_record("session", it.session_id, partial(is_live, it)) is False:
                row = read_record("archived session", it.session_id, partial(_archived_row, it))
                yield (
                    row if isinstance(row, SessionListRow) else UnreadableRow(row.name, it.opened_ms, row.why)
                )
        cursor = page.cursor
        if cursor is None:
            return


def _archived_row(it: ListedSession) -> SessionListRow:
    from ...jobs.archived import parent_of, state_of
    from ...models.protocol.collab import Collab
    from ...models.text.json_text import parse_json
    from .render import SessionListRow

    spec = parse_json(it.documents.spec)
    row = SessionListRow(
        Collab.model_validate_json(it.documents.collab),
        state_of(it.session_id, it.fields, {}),
        parent_of(spec),
        spec.get("thread_id"),
    )
    row.to_json()  # reads each field
    return row


def _fits(it: SessionListRow, wanted: SessionFilter) -> bool:
    collab, state = it.collab, it.state
    return (
        wanted.status in (None, state.status.value)
        and wanted.mode in (None, collab.mode.value)
        and wanted.participant in (None, *(p.participant_id for p in collab.participants))
        and wanted.tag in (None, *(collab.meta.tags or ()))
        and wanted.thread_id in (None, it.thread_id, collab.collab_id)
        and (wanted.since_ms is None or state.opened_ms >= wanted.since_ms)
        and (wanted.until_ms is None or state.opened_ms < wanted.until_ms)
    )


def _found_json(it: FoundMessage) -> dict[str, object]:
    from ...models.text.ids import timestamp_from_ms

    return {
        "id": it.session_id,
        "title": it.title,
        "speaker": it.speaker,
        "turn": it.turn,
        "said_at": timestamp_from_ms(it.at_ms),
        "content": it.content,
    }


def _found_line(it: FoundMessage) -> Text:
    from rich.text import Text

    from ..common.screen import printable

    words = printable(" ".join(it.content.split()))
    cut = words if len(words) <= _MAX_PREVIEW else f"{words[:_MAX_PREVIEW]}…"
    turn = "" if it.turn is None else str(it.turn)
    return Text.assemble(
        (it.session_id[:8], "dim"), f" {turn:>4} ", (printable(it.speaker or "user"), "bold"), f" {cut}"
    )
