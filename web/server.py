"""The server of `symposia serve`: uvicorn with the app, until a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import Any

import uvicorn

from ..config.settings import Settings
from .app import create_app
from .exposure import check_exposure

#: Seconds for which a stop waits for open requests.
_STOP_S = 5


class Server(uvicorn.Server):
    """A server whose streams end when it stops."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal. uvicorn itself would end the process by the signal."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        await self._serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the streams end, and then stop."""
        app: Any = self.config.app
        app.state.symposia.closing.set()
        await super().shutdown(sockets)


def build_server(settings: Settings, *, host: str, port: int, authenticate: bool) -> Server:
    """Return the server.

    Args:
        settings: Settings of the installation.
        host: Address to listen on.
        port: Port to listen on.
        authenticate: Whether each request needs credentials.

    Raises:
        InvalidInput: Other machines could reach it without credentials.
    """
    check_exposure(settings, host, authenticate=authenticate)
    return Server(
        uvicorn.Config(
            create_app(settings, authenticate=authenticate),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_STOP_S,
            lifespan="on",
        )
    )
