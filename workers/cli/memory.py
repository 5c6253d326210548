"""`symposia memory show`, `export`, `forget`, `share` and `unshare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from ...models.memory.report import MemoryReport
    from ...state.memory import DialogMemory

User = Annotated[str, typer.Argument(metavar="USER", help="The user's id.")]
Room = Annotated[str, typer.Argument(metavar="ROOM", help="The room's id.")]
AnyRoom = Annotated[str | None, typer.Argument(metavar="[ROOM]", help="The room's id; none: all rooms.")]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(no_args_is_help=True, help="What is remembered of users: look, take along, forget.")
    for command in (show, export, forget, share, unshare):
        group.command()(command)
    app.add_typer(group, name="memory")


def show(user: User, room: AnyRoom = None, as_json: AsJson = False) -> None:
    """Show what is remembered of a user in a room, masked; without a room, in which rooms.

    Example: [bold]symposia memory show 42 room_123[/bold]
    """
    from .screen import console, print_json, printable

    memory = _memory()
    if room is None:
        rooms = memory.rooms(user)
        if as_json:
            print_json({"user_id": user, "rooms": rooms, "shared": list(memory.shared(user))})
        else:
            console().print("\n".join(map(printable, rooms)) or f"Nothing is remembered of user {user}.")
        return
    report = memory.show(user, room)
    if as_json:
        print_json(report.to_json())
    elif not report.lines:
        console().print(f"Nothing is remembered of user {report.user_id} in room {report.room_id}.")
    else:
        console().print(_table(report))
        console().print(_footing(report))


def export(user: User, room: Room) -> None:
    """Print a user's own copy as JSON: the whole context, and the messages it came from, unmasked.

    Example: [bold]symposia memory export 42 room_123 > mine.json[/bold]
    """
    from .screen import print_json

    print_json(_memory().export(user, room, by=user))


def forget(
    user: User,
    room: AnyRoom = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Parameters, such as from.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(help="Their service; by default the current one, or else those that know them."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Forget all of the room, or, without one, all of the user.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Forget parameters, a room, or a user. Turns that began earlier cannot bring them back.

    Example: [bold]symposia memory forget 42 room_123 from[/bold]
    """
    from ...models.errors import InvalidInput
    from .screen import console, print_json

    if everything == bool(names):
        raise InvalidInput("forget", names or None, "must be told either parameters of a room, or --all")
    if everything and service is not None:
        raise InvalidInput("service", service, "must not stand with --all, which forgets every service")
    memory = _memory()
    rooms = memory.forget_all(user, room) if everything else []
    if names and memory.forget(user, room, *names, service=service):
        rooms = [room or ""]
    if as_json:
        print_json({"user_id": user, "rooms": rooms, "parameters": names or [], "all": everything})
    elif not rooms:
        console().print("There was nothing to forget.")
    else:
        console().print(f"Forgotten: {', '.join(names or ['everything'])} in {', '.join(rooms)}.")


def share(
    user: User,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Parameters, such as travel.from.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop sharing all parameters.")] = False,
    as_json: AsJson = False,
) -> None:
    """Share parameters with a user's other rooms, besides those shared already, or list the shared ones.

    Example: [bold]symposia memory share 42 travel.from travel.cabin_class[/bold]
    """
    from ...models.errors import InvalidInput

    if names and stop:
        raise InvalidInput("share", names, "must not stand with --stop, which shares nothing any more")
    memory = _memory()
    if stop:
        memory.unshare(user)
    elif names:
        memory.share(user, names)
    _print_shared(memory, user, as_json=as_json)


def unshare(
    user: User,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Parameters, such as travel.from.")],
    as_json: AsJson = False,
) -> None:
    """Stop sharing parameters with a user's other rooms.

    Example: [bold]symposia memory unshare 42 travel.from[/bold]
    """
    memory = _memory()
    memory.unshare(user, names)
    _print_shared(memory, user, as_json=as_json)


def _print_shared(memory: DialogMemory, user: str, *, as_json: bool) -> None:
    from .screen import console, print_json

    shared = list(memory.shared(user))
    if as_json:
        print_json({"user_id": user, "shared": shared})
    else:
        console().print(", ".join(shared) or "Nothing is shared between rooms.")


def _memory() -> DialogMemory:
    from ...config.settings import load_settings
    from ..memory import dialog_memory

    return dialog_memory(load_settings())


def _table(report: MemoryReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    from .screen import printable

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("service", "parameter", "value", "source", "confidence", "turn", "age"):
        table.add_column(name, justify="right" if name in ("confidence", "age") else "left")
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
    from .screen import printable

    by = f", last by {printable(report.last_updated_by)}" if report.last_updated_by else ""
    forgotten = [f"{service}.{name}" for service, names in report.forgotten.items() for name in names]
    lines = [f"{report.message_count} messages{by}; forgotten in {_span(report.ttl_s)} unless more is said."]
    if forgotten:
        lines.append(f"Forgotten on request: {printable(', '.join(forgotten))}")
    return "\n".join(lines)


def _span(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"
