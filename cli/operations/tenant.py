"""`symposia tenant`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common.options import AsJson
from ..common.screen import print_json


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tenant)


def tenant(
    name: Annotated[str, typer.Argument(help="Name of the tenant, as in `tenant: NAME` of a session file.")],
    as_json: AsJson = False,
) -> None:
    """Show the usage of a tenant since midnight (UTC) and its daily limits.

    Example: [bold]symposia tenant acme[/bold]
    """
    from ...client import Client
    from ...config.settings import load_settings

    settings = load_settings()
    spent = Client(settings).tenant(name)
    rows = {
        "tokens": (spent.tokens, settings.tenant_daily_tokens),
        "usd": (spent.cost_micros / 1e6, settings.tenant_daily_usd),
        "turns": (spent.turns, settings.tenant_daily_turns),
    }
    if as_json:
        print_json(
            {
                "tenant": name,
                **{unit: {"spent": amount, "limit": limit} for unit, (amount, limit) in rows.items()},
            }
        )
        return
    for unit, (amount, limit) in rows.items():
        of = "" if limit is None else f" of {limit:,.10g}"
        typer.echo(f"{unit:<7}{amount:,.10g}{of}")
