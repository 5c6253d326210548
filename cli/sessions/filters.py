"""The options by which commands choose sessions: the filters of a `SessionQuery`, declared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ..common.options import MODE_NAMES, read_mode

if TYPE_CHECKING:
    from ...client import Client
    from ...models.sessions.query import SessionQuery

#: Maximum number of results of a list.
MAX_LIMIT = 10_000
#: Option -> its type. The names are those of the parameters of a `SessionQuery`, but for `older`.
_FILTERS: Mapping[str, Any] = {
    "status": Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only sessions in this status: draft, active, suspended, failed, limit (ended by a budget or the "
            "deadline), completed or cancelled. Several with commas.",
        ),
    ],
    "attention": Annotated[
        list[str] | None,
        typer.Option(
            "--attention",
            metavar="KIND",
            help="Only sessions that do not move: person (someone must answer), retry, stuck, worker (none is there), "
            "lost (its worker was lost), budget or unreadable. Several with commas.",
        ),
    ],
    "mode": Annotated[
        str | None,
        typer.Option("--mode", parser=read_mode, metavar=MODE_NAMES, help="Only sessions in this mode."),
    ],
    "tenant": Annotated[str | None, typer.Option("--tenant", help="Only sessions of this tenant.")],
    "agent": Annotated[
        str | None, typer.Option("--agent", help="Only sessions with this agent, or this participant id.")
    ],
    "tag": Annotated[str | None, typer.Option("--tag", help="Only sessions with this tag.")],
    "user": Annotated[
        str | None, typer.Option("--user", help="Only sessions that use the memory of this user.")
    ],
    "thread": Annotated[
        str | None,
        typer.Option(
            "--thread", metavar="ID", help="Only sessions of this thread: id of a session or a task."
        ),
    ],
    "error": Annotated[
        str | None,
        typer.Option(
            "--error",
            metavar="TEXT",
            help="Only sessions with this text in their error, or in that of their newest failed turn.",
        ),
    ],
    "q": Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="TEXT",
            help="Only sessions with this text in the title, the error or the name of a participant.",
        ),
    ],
    "cost_min": Annotated[
        str | None,
        typer.Option("--cost-min", metavar="USD", help="Only sessions that cost this much, in US dollars."),
    ],
    "since": Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="Only sessions opened at or after this time: a date, a date and time (UTC), or an age such as 2d.",
        ),
    ],
    "until": Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="Only sessions opened before this time; same formats as --since."
        ),
    ],
    "older": Annotated[
        str | None,
        typer.Option("--older", metavar="AGE", help="Only sessions opened longer ago than this, such as 2d."),
    ],
}


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """Options of a command that changes all sessions that match."""

    #: A key of `ACTION_STATUSES`.
    action: str
    #: What happened to a session, such as `cancelled`.
    done: str
    #: Only print the sessions.
    dry_run: bool
    #: Do not ask.
    yes: bool
    as_json: bool


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of a query, which gets their values as its argument `query`."""
    # The class is not imported for the command line: it is slow.
    hints = get_type_hints(command, localns={"SessionQuery": object}, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in signature(command).parameters.values()
        if parameter.name != "query"
    ]
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _FILTERS.items()
    ]

    @wraps(command)
    def run(**values: Any) -> None:
        given = {name: values.pop(name) for name in _FILTERS}
        command(query=_read(given), **values)

    positional = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
    others = [one for one in own if one.kind is Parameter.KEYWORD_ONLY]
    run.__signature__ = Signature([*positional, *options, *others])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    return run


def _read(given: Mapping[str, Any]) -> SessionQuery:
    """Return the query of these options."""
    from ...models.errors import InvalidInput
    from ...models.sessions.query import SessionQuery
    from ..common.arguments import age_ms

    values = {
        name: value if isinstance(value, list) else [value]
        for name, value in given.items()
        if value not in (None, [])
    }
    for name, texts in values.items():
        if not all(text.strip() for text in texts):  # `--tenant "$TENANT"` without a value must not mean all
            raise InvalidInput(option_of(name), texts[-1], "must not be empty")
    if older := values.pop("older", None):
        age_ms(older[0], option="--older")
        if "until" in values:
            raise InvalidInput("--older", older[0], "must not be given with --until")
        values["until"] = older
    try:
        return SessionQuery.read_strictly(values)
    except InvalidInput as error:
        raise InvalidInput(option_of(error.field), ",".join(values[error.field]), error.rule) from None


def option_of(name: str) -> str:
    """Return the option of a parameter of a query."""
    return "--text" if name == "q" else f"--{name.replace('_', '-')}"


def find_thread(client: Client, query: SessionQuery) -> SessionQuery:
    """Return the query with the whole id of its thread.

    Raises:
        SessionNotFound: There is no such thread.
    """
    return query.changed(thread=client.find_thread(query.thread)) if query.thread else query
