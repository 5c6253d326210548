"""Command for MCP clients: `symposia mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(mcp)


def mcp(
    wait: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=86_400,
            help="Maximum seconds for which a call waits for its session.",
            show_default="the configured number, or 50",
        ),
    ] = None,
    cancel_sessions: Annotated[
        bool | None,
        typer.Option(
            help="Cancel the session of a call that the client cancels.", show_default="as configured, or no"
        ),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(help="Submit sessions of this tenant, and show no others.", show_default="all tenants"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Name of the user of the client, in events and for answers.",
            show_default="local",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder of the project, such as that of symposia.toml; for clients that start programs elsewhere.",
            show_default="the working folder",
        ),
    ] = None,
) -> None:
    """Serve an MCP client on standard input and output, until it ends.

    Each session file of the setting `jobs` is a tool. The client starts this command itself; it is not for a terminal.
    The log goes to standard error.

    Example: [bold]symposia mcp --folder /srv/shop --wait 50[/bold]
    """
    import os
    from dataclasses import replace

    from ...agents.programs.process import hide_environment
    from ...config.settings import load_settings
    from ...models.extras import check_installed
    from ...models.identity import LOCAL
    from ...workers.logs import configure_logging

    for module in ("mcp", "fastapi"):
        check_installed(module, "the MCP server")
    if folder is not None:
        os.chdir(folder)
    chosen = {"mcp_wait_s": wait, "mcp_cancel_sessions": cancel_sessions}
    settings = load_settings(**{field: value for field, value in chosen.items() if value is not None})
    hide_environment()
    configure_logging(settings)
    from ...web.mcp.stdio import run_stdio

    run_stdio(settings, caller=replace(LOCAL, name=name or LOCAL.name, tenant=tenant))
