"""Commands on all sessions that match: preview, confirmation, progress, and a line for each failure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import typer
from rich.progress import track

from ...client import Client
from ...client.session_rows import SessionListRow, all_live, list_rows, live_rows
from ...jobs.collab import CollabJob
from ...models.errors import InvalidInput, SymposiaError
from ...models.sessions.bulk import query_for
from ...models.sessions.query import ANY_QUERY, SessionQuery
from ...models.text.words import count_of
from ..common.exit_codes import ExitCode
from ..common.options import open_client
from ..common.screen import console, print_json, printable
from .filters import BulkOptions, find_thread
from .rows import session_table

#: Rows shown before a confirmation.
_MAX_SHOWN = 20


def change_all(query: SessionQuery, options: BulkOptions, change: Callable[[CollabJob], object]) -> None:
    """Change all sessions that match.

    Raises:
        InvalidInput: There is no filter, or no session that matches can be changed.
        typer.Exit: With code 1, if a change failed, or the user does not want it.
    """
    if query == ANY_QUERY:
        rule = f"must be given, or a filter such as --status to {options.action} all that match"
        raise InvalidInput("ID", "", rule)
    client = open_client()
    rows = _matching(client, options.action, find_thread(client, query))
    failures: dict[str, str] = {}
    if rows and not options.dry_run:
        if not options.yes:
            _confirm(options.action, rows)
        failures = _change_each(client, options.action, rows, change)
    _print_result(options, rows, failures)
    if failures:
        raise typer.Exit(ExitCode.CANCELLED)


def _matching(client: Client, action: str, query: SessionQuery) -> list[SessionListRow]:
    chosen = query_for(action, query)
    if chosen is None:
        rule = f"must be of sessions that `symposia {action}` is for"
        raise InvalidInput("--status", ",".join(query.status), rule)
    # Failed sessions may be in the archive only; all others are live.
    rows = list_rows(client, chosen) if action == "retry" else live_rows(all_live(client), chosen)
    return [row for row in rows if isinstance(row, SessionListRow)]


def _confirm(action: str, rows: Sequence[SessionListRow]) -> None:
    screen = console(stderr=True)
    screen.print(session_table(rows[:_MAX_SHOWN]))
    if len(rows) > _MAX_SHOWN:
        screen.print(f"and {len(rows) - _MAX_SHOWN:,} more")
    if not sys.stdin.isatty():
        rule = f"must be given to {action} {count_of(len(rows), 'session', spec=',')} without a terminal"
        raise InvalidInput("--yes", False, rule)
    if not typer.confirm(f"{action.capitalize()} {count_of(len(rows), 'session', spec=',')}?", err=True):
        screen.print("Nothing was changed.")
        raise typer.Exit(ExitCode.CANCELLED)


def _change_each(
    client: Client, action: str, rows: Sequence[SessionListRow], change: Callable[[CollabJob], object]
) -> dict[str, str]:
    """Change the sessions, and return the errors by id."""
    screen, failures = console(stderr=True), {}
    steps = track(rows, description=action, console=screen, disable=not screen.is_terminal, transient=True)
    for row in steps:
        try:
            change(client.get_job(row.id))
        except SymposiaError as error:
            failures[row.id] = str(error)
            screen.print(f"{row.id}: {printable(str(error))}")
    return failures


def _print_result(options: BulkOptions, rows: Sequence[SessionListRow], failures: Mapping[str, str]) -> None:
    if options.as_json:
        changed = [row.id for row in rows if not options.dry_run and row.id not in failures]
        failed = [{"id": name, "error": error} for name, error in failures.items()]
        matching = [row.to_json() for row in rows]
        data = {"matching": matching, options.done: changed, "failed": failed, "dry_run": options.dry_run}
        print_json(data)
        return
    count = count_of(len(rows), "session", spec=",")
    if not rows:
        console(stderr=True).print(f"No session matches that can be {options.done}.")
    elif options.dry_run:
        console().print(session_table(rows))
        console().print(f"{count} would be {options.done}; nothing was changed.")
    else:
        more = f", {len(failures):,} failed" if failures else ""
        console().print(f"{len(rows) - len(failures):,} of {count} {options.done}{more}.")
