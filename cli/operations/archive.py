"""`symposia restore` and `prune`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...models.text.words import count_of
from ..common.options import AsJson, SessionId, open_client
from ..common.screen import console, print_json

if TYPE_CHECKING:
    from ...client.pruning import Pruned


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (restore, prune):
        app.command()(command)


def restore(session: SessionId, as_json: AsJson = False) -> None:
    """Restore an unfinished session that Redis has lost. It continues after its last archived turn.

    Example: [bold]symposia restore 3f2a91c4[/bold]
    """
    client = open_client()
    job = client.restore(session)
    state = job.state()
    if as_json:
        print_json(
            {"id": job.id, "status": state.status.value, "turns": state.closed, "messages": state.messages}
        )
    else:
        console().print(
            f"Session {job.id} restored ({state.status.value}): {count_of(state.closed, 'turn')}, {count_of(state.messages, 'message')}."
        )


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Delete only what ended at least this long ago, such as 36h, 90d or 12w.",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Delete only sessions that used the dialog memory of this user.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted, and delete nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old sessions, reviews and tasks from the archive, or the sessions of one user.

    One of --older-than and --user is required. Sessions that are still in Redis, the newest review of each root, and open tasks are kept. The age of a session that never ended counts from its last change.

    Example: [bold]symposia prune --older-than 90d --dry-run[/bold]
    """
    from ...client.pruning import Pruned, prune
    from ...models.errors import InvalidInput
    from ...state.redis.connect import connect
    from ...state.sessions.index import SessionIndex
    from ..common.arguments import age_ms

    if older_than is None and user is None:
        raise InvalidInput("prune", None, "requires --older-than, --user or both")
    age = None if older_than is None else age_ms(older_than, option="--older-than")
    client = open_client()
    pruned = Pruned()
    if client.archive is not None and client.archived() is not None:
        redis = connect(client.redis_url)
        before_ms = None if age is None else SessionIndex(redis).now_ms() - age
        pruned = prune(client.archive, redis, before_ms=before_ms, user=user, dry_run=dry_run)
    if as_json:
        print_json({**asdict(pruned), "dry_run": dry_run})
    else:
        console().print(_summary(pruned, dry_run=dry_run))


def _summary(pruned: Pruned, *, dry_run: bool) -> str:
    what = count_of(pruned.sessions, "session") + (
        f" and {count_of(pruned.tasks, 'task')}" if pruned.tasks else ""
    )
    what += f" with {count_of(pruned.messages, 'message')}"
    what += f" and {count_of(pruned.reviews, 'review')}" if pruned.reviews else ""
    left = (
        f" Kept {count_of(pruned.live, 'session that is', 'sessions that are')} still in Redis."
        if pruned.live
        else ""
    )
    return (f"Would delete {what}." if dry_run else f"Deleted {what}.") + left
