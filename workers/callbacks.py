"""HTTP server of callbacks: the one route on which remote systems answer their turns.

    POST /replies   {"session_id": ..., "turn_number": ..., "participant": ..., "reply_token": ..., "text": ...}

signed like the webhook that delivered the turn (`agents/remote/webhook.py`). A caller that cannot sign gets
no information, not even whether the session exists. A callback is accepted once: its reply token is valid for
one answer of one turn, so a replayed callback is refused because the turn is over. A stop waits for the open requests.

| status | means |
|---|---|
| 200 | accepted |
| 400 | not JSON, or not these fields |
| 401 | `unauthorized`: unsigned, forged, or not a remote system; or `expired` |
| 409 | the turn is over, or the reply token belongs to another turn |
| 422 | the text is blank, too long, or not one of the choices |
| 429 | too many invalid requests from this address: retry after a second |
| 503 | Redis is unavailable: retry later |
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from ..agents.kinds.external import ExternalAgent
from ..agents.registry.registry import Registry
from ..agents.remote.webhook import ID, SIGNATURE, TIMESTAMP
from ..client import Client, installation_of
from ..jobs.collab import CollabJob
from ..models.errors import (
    AgentError,
    InvalidInput,
    RedisUnavailable,
    ReplyRefused,
    SymposiaError,
    UnknownAgent,
)

log = logging.getLogger(__name__)

#: Limit of invalid requests per address: the size of the bucket, and its refill per second.
FAILED_AUTH_BURST, FAILED_AUTH_PER_S = 60.0, 5.0
#: Maximum number of addresses with a token bucket.
MAX_ADDRESSES = 10_000


class Callback(BaseModel):
    """Body of a callback."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    session_id: str = Field(max_length=64)
    turn_number: int = Field(ge=1, le=10_000_000)
    participant: str = Field(min_length=1, max_length=200)
    reply_token: str = Field(min_length=1, max_length=64)
    text: str


@dataclass(frozen=True, slots=True)
class CallbackResponse:
    """Response to a callback: HTTP status and error text."""

    status: int
    error: str = ""


_UNAUTHORIZED = CallbackResponse(401, "unauthorized")
TOO_MANY = CallbackResponse(429, "too many invalid requests")


class FailedAuthLimiter:
    """Limiter of invalid requests: a token bucket per address.

    Callers with valid signatures are never limited, unless they share an address with an invalid caller.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        #: Address -> remaining tokens and time of that count (monotonic seconds); oldest update first.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def is_limited(self, address: str) -> bool:
        """Return whether requests from this address are refused for now."""
        return self._bucket(address) < 1

    def record_failure(self, address: str) -> None:
        """Count one invalid request of this address."""
        left = self._bucket(address) - 1
        self._left.pop(address, None)
        self._left[address] = (left, self._now())
        if len(self._left) > MAX_ADDRESSES:
            self._left.popitem(last=False)

    def _bucket(self, address: str) -> float:
        left, as_of = self._left.get(address, (FAILED_AUTH_BURST, self._now()))
        return min(left + (self._now() - as_of) * FAILED_AUTH_PER_S, FAILED_AUTH_BURST)


class Receiver:
    """Checks callbacks and passes valid answers to their sessions; thread-safe."""

    def __init__(self, client: Client, registry: Registry) -> None:
        self._client = client
        self._registry = registry

    def receive(self, headers: dict[str, str], body: bytes) -> CallbackResponse:
        """Check one callback and answer its turn; never raises for an invalid callback.

        Args:
            headers: The signature headers of the request.
            body: The body as it was received.

        Returns:
            The response: status 200, or the status and text of the refusal.
        """
        try:
            callback = Callback.model_validate_json(body)
        except ValidationError:
            return CallbackResponse(
                400, "must be JSON with session_id, turn_number, participant, reply_token and text"
            )
        try:
            return self._verify_and_reply(callback, headers, body)
        except RedisUnavailable:
            return CallbackResponse(503, "try again later")
        except SymposiaError as error:
            log.warning("callback refused: %s", error)
            return _UNAUTHORIZED

    def _verify_and_reply(self, callback: Callback, headers: dict[str, str], body: bytes) -> CallbackResponse:
        if not all(headers.get(name) for name in (ID, TIMESTAMP, SIGNATURE)):
            return _UNAUTHORIZED  # before any lookup
        job = installation_of(self._client).sessions.get_live(callback.session_id)
        refusal = self._agent(job, callback).refusal(headers, body)
        if refusal is not None:
            log.warning("callback for session %s refused: %s", callback.session_id, refusal)
            # An expired callback has a valid signature. Other callers must not learn whether the session
            # exists.
            return CallbackResponse(401, refusal) if refusal == "expired" else _UNAUTHORIZED
        try:
            job.reply(
                callback.participant, callback.text, token=callback.reply_token, turn=callback.turn_number
            )
        except ReplyRefused as error:
            return CallbackResponse(409, error.word)
        except InvalidInput as error:
            return CallbackResponse(422, str(error))
        return CallbackResponse(200)

    def _agent(self, job: CollabJob, callback: Callback) -> ExternalAgent:
        """Return the remote system of the participant; its secret must sign the callback.

        Raises:
            UnknownAgent: No agent of the registry answers for the participant.
            AgentError: The participant is not a remote system.
        """
        binding = job.spec.agents.get(callback.participant)
        if binding is None:
            raise UnknownAgent(callback.participant)
        record = job.state().records.get(callback.turn_number)
        agent = self._registry.get_agent(binding.with_agent(record.agent if record else None))
        if not isinstance(agent, ExternalAgent):
            raise AgentError(f"participant {callback.participant!r} is not a remote system")
        return agent


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
