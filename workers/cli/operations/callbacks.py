"""`symposia callbacks`."""

from __future__ import annotations

from typing import Annotated

import typer


def add_callbacks_command(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(callbacks)


def callbacks(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = 5_556,
) -> None:
    r"""Receive signed answers of remote systems over HTTP, until Ctrl-C.

    There is one route, POST /replies. Run it behind a TLS proxy, and set its public URL as
    `callback_url` in [\[webhooks]] of the agents file.

    Example: [bold]symposia callbacks --port 5556[/bold]
    """
    import asyncio
    from contextlib import suppress

    from ....client import Client
    from ....config.settings import load_settings
    from ....factories.runtime import load_registry
    from ...callbacks import PATH, Receiver, make_server, serve

    settings = load_settings()
    receiver = Receiver(Client(settings), load_registry(settings))
    server = make_server(receiver, max_message_bytes=settings.max_message_bytes)
    typer.echo(f"Receiving callbacks at http://{host}:{port}{PATH}; press Ctrl-C to stop.")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(server, host=host, port=port))
