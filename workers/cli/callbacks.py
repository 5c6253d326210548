"""`symposia callbacks`."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(callbacks)


def callbacks(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = 5_556,
) -> None:
    r"""Receive the signed answers of remote systems, until Ctrl-C.

    One route, POST /replies. Put it behind whatever serves TLS, and name its public URL as
    `callback_url` in [\[webhooks]] of the agents file.

    Example: [bold]symposia callbacks --port 5556[/bold]
    """
    import asyncio
    from contextlib import suppress

    from ...client import Client
    from ...config.settings import load_settings
    from ..callbacks import PATH, Receiver, make_server, serve
    from ..runtime import load_registry

    settings = load_settings()
    receiver = Receiver(Client(settings), load_registry(settings))
    server = make_server(receiver, max_message_bytes=settings.max_message_bytes)
    typer.echo(f"Callbacks are received at http://{host}:{port}{PATH}; Ctrl-C stops it.")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(server, host=host, port=port))
