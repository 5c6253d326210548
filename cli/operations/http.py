"""Command `symposia serve`: the HTTP API."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Port to listen on.", show_default="the configured port, or 8765"
        ),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Need no credentials; only on a loopback address.")
    ] = False,
) -> None:
    """Serve sessions over HTTP, until Ctrl-C or SIGTERM.

    A stop waits for the open requests. The paths begin with /v1; /v1/openapi.json describes them. Run it behind a TLS
    proxy for other machines.

    Example: [bold]symposia serve --port 8765[/bold]
    """
    import logging

    from ...agents.programs.process import hide_environment
    from ...client.building.connection import redis_url_in_use
    from ...config.settings import load_settings
    from ...models.extras import check_installed
    from ...workers.logs import configure_logging

    for module in ("fastapi", "uvicorn"):
        check_installed(module, "the HTTP API")
    from ...web.server import build_server

    hide_environment()
    settings = load_settings()
    configure_logging(settings)
    redis_url_in_use(settings)
    port = port or settings.http_port
    server = build_server(settings, host=host, port=port, authenticate=not no_auth)
    text = f"Serving HTTP at http://{host}:{port}/v1; press Ctrl-C to stop."
    if settings.log_format == "json":
        logging.getLogger(__name__).info(text)
    else:
        typer.echo(text)
    server.run()
    if not server.started:
        raise typer.Exit(4)
