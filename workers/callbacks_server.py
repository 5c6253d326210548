"""HTTP server of callbacks: one route, `POST /replies`. It ends after the open requests."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from ..agents.remote.webhook import ID, SIGNATURE, TIMESTAMP
from ..models.errors import InvalidInput
from .callbacks import TOO_MANY, FailedAuthLimiter, Receiver

log = logging.getLogger(__name__)

PATH = "/replies"
#: Maximum seconds that a stop waits for open requests; Redis answers or fails earlier.
DRAIN_S = 15.0
#: Bytes of a callback besides its text: names and ids, and the escapes of JSON.
_REST_BYTES = 65_536


class OpenRequests:
    """Count of the requests that are being answered."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a request within the context."""
        self._count += 1
        self._none.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._none.set()

    async def wait_for_none(self, timeout_s: float) -> None:
        """Wait until all requests are answered, or the time is over."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), timeout_s)


class _NotFoundHandler(RequestHandler):
    """Handler of all other paths: errors in one line, without traceback or server name."""

    def prepare(self) -> None:
        """Answer 404."""
        self.send_error(404)

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    def write_error(self, status_code: int, **_kwargs: Any) -> None:
        self.write({"error": f"status {status_code}"})


class _Replies(_NotFoundHandler):
    """Handler of `POST /replies`."""

    def initialize(self, receiver: Receiver, limiter: FailedAuthLimiter, requests: OpenRequests) -> None:
        self._receiver = receiver
        self._limiter = limiter
        self._requests = requests

    def prepare(self) -> None:
        """Override the base class, which answers 404."""

    async def post(self) -> None:
        """Check the callback in a thread, because the check calls Redis."""
        with self._requests.one_more():
            await self._answer()

    async def _answer(self) -> None:
        headers = {name: self.request.headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE)}
        address = self.request.remote_ip or ""
        if self._limiter.is_limited(address):
            verdict = TOO_MANY
            self.set_header("Retry-After", "1")
        else:
            verdict = await asyncio.to_thread(self._receiver.receive, headers, self.request.body)
        if verdict.status in (400, 401):
            self._limiter.record_failure(address)
        self.set_status(verdict.status)
        await self.finish({"error": verdict.error} if verdict.error else {"status": "taken"})


class CallbackServer:
    """An HTTP server that passes callbacks to a receiver.

    Args:
        receiver: Checks the callbacks.
        max_message_bytes: Maximum size of an answer's text.
    """

    def __init__(self, receiver: Receiver, *, max_message_bytes: int) -> None:
        self._requests = OpenRequests()
        parts = {"receiver": receiver, "limiter": FailedAuthLimiter(), "requests": self._requests}
        application = Application(
            [(PATH, _Replies, parts)], default_handler_class=_NotFoundHandler, log_function=_log_request
        )
        # JSON may encode one character with six bytes.
        self._http = HTTPServer(
            application, max_body_size=6 * max_message_bytes + _REST_BYTES, xheaders=False
        )

    async def serve(self, *, host: str, port: int, drain_s: float = DRAIN_S) -> None:
        """Listen until cancelled, then answer the open requests.

        Raises:
            InvalidInput: The address or port cannot be used.
        """
        try:
            self._http.listen(port, host)
        except OSError as error:
            raise InvalidInput("port", port, f"cannot be used on {host}: {error.strerror}") from None
        try:
            await asyncio.Event().wait()
        finally:
            self._http.stop()
            await self._requests.wait_for_none(drain_s)
            await self._http.close_all_connections()

    async def serve_until_signal(self, *, host: str, port: int) -> None:
        """Listen until SIGTERM or SIGINT, then answer the open requests.

        The handlers are needed in a container without an init process: the kernel drops signals to process 1 that
        have none.
        """
        serving = asyncio.ensure_future(self.serve(host=host, port=port))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving


def _log_request(handler: RequestHandler) -> None:
    log.info("callback %s %s: HTTP %s", handler.request.method, handler.request.path, handler.get_status())
