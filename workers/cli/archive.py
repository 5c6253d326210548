"""`symposia restore` and `prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson, SessionId

if TYPE_CHECKING:
    from ...tasks.pruning import Pruned


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (restore, prune):
        app.command()(command)


def restore(session: SessionId, as_json: AsJson = False) -> None:
    """Let an unfinished session that Redis has lost go on, from its last archived turn.

    Example: [bold]symposia restore 3f2a91c4[/bold]
    """
    from ...client import Client
    from ...config.settings import load_settings
    from .find import find_id
    from .screen import console, print_json

    client = Client(load_settings())
    job = client.restore(find_id(client, session))
    state = job.state()
    if as_json:
        print_json(
            {"id": job.id, "status": state.status.value, "turns": state.closed, "messages": state.messages}
        )
    else:
        console().print(
            f"Session {job.id} is {state.status.value} again: {state.closed} turns, {state.messages} messages."
        )


def prune(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="Only sessions that ended at least this long ago: 36h, 90d, 12w.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only sessions that used this user's memory.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete old sessions, reviews and tasks from the archive, or the sessions of one user.

    Left are sessions that are still in Redis, the newest review of each root, and open tasks. What never ended counts from its last change.

    Example: [bold]symposia prune --older-than 90d --dry-run[/bold]
    """
    from ...client import Client
    from ...config.settings import load_settings
    from ...models.errors import InvalidInput
    from ...state.connect import connect
    from ...state.index import SessionIndex
    from ...tasks.pruning import Pruned, prune
    from .screen import console, print_json
    from .times import age_ms

    if older_than is None and user is None:
        raise InvalidInput("prune", None, "must be told --older-than, or --user, or both")
    age = None if older_than is None else age_ms(older_than, option="--older-than")
    client = Client(load_settings())
    pruned = Pruned()
    if client.archive is not None and client.archived() is not None:
        redis = connect(client.redis_url)
        before_ms = None if age is None else SessionIndex(redis).now_ms() - age
        pruned = prune(client.archive, redis, before_ms=before_ms, user=user, dry_run=dry_run)
    if as_json:
        told = {
            "sessions": pruned.sessions,
            "messages": pruned.messages,
            "live": pruned.live,
            "reviews": pruned.reviews,
            "tasks": pruned.tasks,
        }
        print_json({**told, "dry_run": dry_run})
    else:
        console().print(_told(pruned, dry_run=dry_run))


def _told(pruned: Pruned, *, dry_run: bool) -> str:
    what = f"{pruned.sessions} sessions" + (f" and {pruned.tasks} tasks" if pruned.tasks else "")
    what += f" with {pruned.messages} messages"
    what += f" and {pruned.reviews} reviews" if pruned.reviews else ""
    left = f" {pruned.live} are still live and were left." if pruned.live else ""
    return (f"Would delete {what}." if dry_run else f"Deleted {what}.") + left
