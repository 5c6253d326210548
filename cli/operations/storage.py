"""`symposia memory`, `restore` and `prune`: what is stored about users, and the archive."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...models.text.words import count_of
from ..common.options import AsJson, SessionId, open_client
from ..common.screen import console, plain_table, print_json, printable
from .recollections import Tenant, describe_deleted, forget_scope, forget_user, recall

if TYPE_CHECKING:
    from rich.table import Table

    from ...client.pruning import Pruned
    from ...memory.report import MemoryReport
    from ...memory.rooms import DialogMemory

User = Annotated[str, typer.Argument(metavar="USER", help="User id.")]
Room = Annotated[str, typer.Argument(metavar="ROOM", help="Room id.")]
AnyRoom = Annotated[str | None, typer.Argument(metavar="[ROOM]", help="Room id; without it, all rooms.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Show, export, share and delete the data that dialog memory stores about users.",
    )
    for command in (show, export, forget, share, unshare, recall):
        group.command()(command)
    app.add_typer(group, name="memory")
    app.command()(restore)
    app.command()(prune)


def show(user: User, room: AnyRoom = None, as_json: AsJson = False) -> None:
    """Show the stored parameters of a user in a room, masked; without ROOM, list the rooms of the user.

    Example: [bold]symposia memory show 42 room_123[/bold]
    """
    memory = _memory()
    if room is None:
        rooms = memory.rooms(user)
        if as_json:
            print_json({"user_id": user, "rooms": rooms, "shared": list(memory.shared(user))})
        else:
            console().print("\n".join(map(printable, rooms)) or f"No data stored for user {user}.")
        return
    report = memory.show(user, room)
    if as_json:
        print_json(report.to_json())
    elif not report.lines:
        console().print(f"No data stored for user {report.user_id} in room {report.room_id}.")
    else:
        console().print(_table(report))
        console().print(_footing(report))


def export(user: User, room: Room) -> None:
    """Export the data of a user in a room as JSON, unmasked: the full context and its source messages.

    Example: [bold]symposia memory export 42 room_123 > mine.json[/bold]
    """
    print_json(_memory().export(user, room, by=user))


def forget(
    user: Annotated[
        str,
        typer.Argument(
            metavar="USER|SCOPE",
            help="User id; or user:ID, room:ID or tenant:NAME, whose long-term memory is deleted with --all.",
        ),
    ],
    room: AnyRoom = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Parameters to delete, such as from.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(
            help="Service of the parameters (default: the current service, or else all services that have them)."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Delete everything in the room; without ROOM, everything about the user."),
    ] = False,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete parameters, a room or a user from dialog memory, or a long-term memory. Turns that started earlier cannot restore parameters.

    USER with --all and without ROOM also deletes the long-term memory of the user in every tenant.

    Example: [bold]symposia memory forget 42 room_123 from[/bold]
    """
    from ...models.errors import InvalidInput

    if everything == bool(names):
        raise InvalidInput("forget", names or None, "requires either names of parameters or --all")
    if everything and service is not None:
        raise InvalidInput(
            "service", service, "must not be used with --all, which deletes the parameters of all services"
        )
    if ":" in user:  # an id of a user has no colon
        if not everything or room is not None:
            raise InvalidInput("forget", user, "requires --all, and no room")
        forget_scope(user, tenant=tenant, as_json=as_json)
        return
    if tenant is not None:
        raise InvalidInput("tenant", tenant, "must be used with user:ID or room:ID")
    memory = _memory()
    rooms = memory.forget_all(user, room) if everything else []
    texts = forget_user(user) if everything and room is None else 0
    if names and memory.forget(user, room, *names, service=service):
        rooms = [room or ""]
    if as_json:
        deleted = {"user_id": user, "rooms": rooms, "parameters": names or [], "all": everything}
        print_json(deleted | ({"texts": texts} if texts else {}))
    elif texts:
        where = f"everything in {', '.join(rooms)}, " if rooms else ""
        console().print(f"Deleted: {where}{describe_deleted(texts)} of the long-term memory.")
    elif not rooms:
        console().print("Nothing to delete.")
    else:
        console().print(f"Deleted: {', '.join(names or ['everything'])} in {', '.join(rooms)}.")


def share(
    user: User,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Parameters to share, such as travel.from."),
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop sharing all parameters.")] = False,
    as_json: AsJson = False,
) -> None:
    """Share more parameters between the rooms of a user. Without names, list the shared parameters.

    Example: [bold]symposia memory share 42 travel.from travel.cabin_class[/bold]
    """
    from ...models.errors import InvalidInput

    if names and stop:
        raise InvalidInput("share", names, "must not be used with --stop, which stops sharing all parameters")
    memory = _memory()
    if stop:
        memory.unshare(user)
    elif names:
        memory.share(user, names)
    _print_shared(memory, user, as_json=as_json)


def unshare(
    user: User,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Parameters to stop sharing, such as travel.from.")
    ],
    as_json: AsJson = False,
) -> None:
    """Stop sharing parameters between the rooms of a user.

    Example: [bold]symposia memory unshare 42 travel.from[/bold]
    """
    memory = _memory()
    memory.unshare(user, names)
    _print_shared(memory, user, as_json=as_json)


def _print_shared(memory: DialogMemory, user: str, *, as_json: bool) -> None:
    shared = list(memory.shared(user))
    if as_json:
        print_json({"user_id": user, "shared": shared})
    else:
        console().print(", ".join(shared) or "No shared parameters.")


def _memory() -> DialogMemory:
    from ...client.building.memory import dialog_memory
    from ...config.settings import load_settings

    return dialog_memory(load_settings())


def _table(report: MemoryReport) -> Table:
    from rich.text import Text

    names = ("service", "parameter", "value", "source", "confidence", "turn", "age")
    table = plain_table(*names, right=("confidence", "age"))
    for line in report.lines:
        turn = f"{line.session[:8]} {line.turn}" if line.session else ""
        table.add_row(
            Text(line.service, style="bold" if line.service == report.service else ""),
            Text(printable(line.name)),
            Text(printable(str(line.value))),
            line.source.value,
            f"{line.confidence:.2f}",
            turn,
            _span(line.age_s),
        )
    return table


def _footing(report: MemoryReport) -> str:
    by = f", last by {printable(report.last_updated_by)}" if report.last_updated_by else ""
    forgotten = [f"{service}.{name}" for service, names in report.forgotten.items() for name in names]
    lines = [
        f"{count_of(report.message_count, 'message')}{by}; expires in {_span(report.ttl_s)} without new messages."
    ]
    if forgotten:
        lines.append(f"Deleted on request: {printable(', '.join(forgotten))}")
    return "\n".join(lines)


def _span(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


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

    One of --older-than and --user is required; both include texts of the long-term memory. Sessions that are still in Redis, the newest review of each root, and open tasks are kept. The age of a session that never ended counts from its last change.

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
    what += f" and {count_of(pruned.texts, 'text')} of the long-term memory" if pruned.texts else ""
    left = (
        f" Kept {count_of(pruned.live, 'session that is', 'sessions that are')} still in Redis."
        if pruned.live
        else ""
    )
    return (f"Would delete {what}." if dry_run else f"Deleted {what}.") + left
