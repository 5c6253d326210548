"""The server of `symposia serve`: uvicorn with the app, until a signal."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn

from ..config.settings import Settings
from .app import create_app
from .exposure import check_exposure

#: Seconds for which a stop waits for open requests.
_STOP_S = 5
_DATE_EVERY_S = 1.0


class Server(uvicorn.Server):
    """A server whose streams end when it stops."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal. uvicorn itself would end the process by the signal."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        await self._serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop because of a signal."""
        super().handle_exit(sig, frame)
        self._stopping.set()

    async def main_loop(self) -> None:
        """Update the date of the headers until a signal. uvicorn's own loop wakes up ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _DATE_EVERY_S)

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
