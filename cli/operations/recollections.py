"""`symposia memory recall`, and the deletion of scopes: texts of the long-term memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...models.text.words import count_of
from ..common.options import AsJson, open_client
from ..common.screen import console, plain_table, print_json, printable

if TYPE_CHECKING:
    from ...memory.long_term import LongTermMemory

Tenant = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Tenant of the user or room (default: sessions without a tenant)."),
]


def recall(
    scope: Annotated[
        str,
        typer.Argument(metavar="SCOPE", help="Whose long-term memory: user:ID, room:ID or tenant:NAME."),
    ],
    query: Annotated[
        str, typer.Argument(metavar="[QUERY]", help="Text to find; without it, the newest texts.")
    ] = "",
    tenant: Tenant = None,
    limit: Annotated[
        int, typer.Option(help="Maximum number of texts (default 20).", show_default=False)
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List texts of the long-term memory, unmasked: those that fit QUERY best come first, then the newest.

    Example: [bold]symposia memory recall user:42 "seat in the plane"[/bold]
    """
    from ...models.text.ids import timestamp_from_ms
    from ...workers.local.code_check import importing_as_workers

    with importing_as_workers():
        recollections = _memory().recall(scope, query, tenant=tenant, limit=limit)
    if as_json:
        print_json({"scope": scope, "tenant": tenant, "texts": [dict(item) for item in recollections]})
        return
    if not recollections:
        console().print(f"No texts stored for {printable(scope)}.")
        return
    from rich.text import Text

    table = plain_table("stored", "text")
    for item in recollections:
        table.add_row(timestamp_from_ms(item.at_ms)[:16] if item.at_ms else "", Text(printable(item.text)))
    console().print(table)


def forget_scope(scope: str, *, tenant: str | None, as_json: bool) -> None:
    """Delete all texts of a scope."""
    from ...workers.local.code_check import importing_as_workers

    with importing_as_workers():
        deleted = _memory().forget(scope, tenant=tenant)
    if as_json:
        print_json({"scope": scope, "tenant": tenant, "texts": deleted})
    elif deleted:
        console().print(f"Deleted {describe_deleted(deleted)} of {printable(scope)}.")
    else:
        console().print("Nothing to delete.")


def forget_user(user: str) -> int:
    """Delete all texts of a user in every tenant; return their number, 0 if there is no long-term memory."""
    from ...workers.local.code_check import importing_as_workers

    client = open_client()
    if client.settings.recall_store is None and client.archive is None:
        return 0
    with importing_as_workers():
        return client.recollections.forget_user(user)


def describe_deleted(number: int) -> str:
    """Return the number of deleted texts in words."""
    return "all texts" if number < 0 else count_of(number, "text")


def _memory() -> LongTermMemory:
    return open_client().recollections
