"""`symposia token`: tokens of callers over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.exit_codes import ExitCode
from ..common.options import AsJson, open_client
from ..common.screen import console, plain_table, print_json, printable

if TYPE_CHECKING:
    from ...state.tokens import Token


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Create, list and revoke tokens of callers over HTTP.")
    group.command()(create)
    group.command("list")(list_all)
    group.command()(revoke)
    app.add_typer(group, name="token")


def create(
    name: Annotated[str, typer.Option(help="Who uses it; also the name in events.", show_default=False)],
    scope: Annotated[
        list[str],
        typer.Option(
            help="What it may do: submit, read, reply, control, admin; separated by commas, or given several times.",
            show_default=False,
        ),
    ],
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Tenant whose sessions it sees and submits.")
    ] = None,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="It sees the sessions of all tenants.")
    ] = False,
    expires: Annotated[str, typer.Option(help="Time until it expires, at most 3650d.")] = "90d",
    as_json: AsJson = False,
) -> None:
    """Create a token, and print it. It cannot be shown again.

    Example: [bold]symposia token create --name ann --tenant shop --scope submit,read,reply[/bold]
    """
    from ...models.errors import InvalidInput

    if (tenant is None) != all_tenants:
        raise InvalidInput("--tenant", tenant, "must be given, or else --all-tenants")
    scopes = [part.strip() for text in scope for part in text.split(",")]
    token = open_client().tokens.create(name, tenant=tenant, scopes=scopes, expires=expires)
    if as_json:
        print_json({**_to_json(token), "token": token.text})
        return
    typer.echo(token.text)
    typer.echo(
        f"token {token.id} of {token.caller.name}: store it now; it expires {_to_json(token)['expires'][:16]}",
        err=True,
    )


def list_all(as_json: AsJson = False) -> None:
    """List the valid tokens, without their secrets.

    Example: [bold]symposia token list[/bold]
    """
    tokens = open_client().tokens.entries()
    if as_json:
        print_json([_to_json(token) for token in tokens])
        return
    if not tokens:
        console().print("No tokens. To create one: symposia token create")
        return
    table = plain_table("id", "name", "tenant", "scopes", "expires")
    for token in tokens:
        row = _to_json(token)
        table.add_row(
            row["id"],
            printable(row["name"]),
            row["tenant"] or "(all)",
            ",".join(row["scopes"]),
            row["expires"][:16],
        )
    console().print(table)


def revoke(
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the token, as `symposia token list` shows it.")
    ],
) -> None:
    """Revoke a token. It is refused from the next request on.

    Example: [bold]symposia token revoke 5a8a6e0e3a564a5b[/bold]
    """
    if not open_client().tokens.revoke(token_id):
        typer.echo(f"token {token_id!r} not found (unknown id, revoked or expired)", err=True)
        raise typer.Exit(ExitCode.NOT_FOUND)
    typer.echo(f"revoked token {token_id}")


def _to_json(token: Token) -> dict[str, Any]:
    from ...models.identity import Scope
    from ...models.text.ids import timestamp_from_ms

    return {
        "id": token.id,
        "name": token.caller.name,
        "tenant": token.caller.tenant,
        "scopes": [scope.value for scope in Scope if scope in token.caller.scopes],
        "created": timestamp_from_ms(token.created_ms),
        "expires": timestamp_from_ms(token.expires_ms),
    }
