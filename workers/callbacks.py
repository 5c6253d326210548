"""The receiver of callbacks: one route, over which remote systems answer their turns.

    POST /replies   {"session_id": ..., "turn_number": ..., "participant": ..., "reply_token": ..., "text": ...}

signed as the turn was when it was delivered (`agents/signing.py`). Who cannot sign learns nothing, not
even whether there is such a session. A callback is taken once: its reply token opens one turn, once,
so a replayed one finds the turn over.

| status | means |
|---|---|
| 200 | taken |
| 400 | no such callback: not JSON, or not these fields |
| 401 | nobody who may call: unsigned, forged, or not a remote system; or expired |
| 409 | its turn is over, or the reply token is not the turn's |
| 422 | the text is blank, too long, or none of the choices |
| 429 | too many from this address were not to be believed: wait a second |
| 503 | Redis is away: to be tried again |
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from ..agents.external import ExternalAgent
from ..agents.registry import Registry
from ..agents.signing import ID, SIGNATURE, TIMESTAMP
from ..client import Client
from ..job import CollabJob
from ..models.errors import (
    AgentError,
    InvalidInput,
    RedisUnavailable,
    ReplyRefused,
    SymposiaError,
    UnknownAgent,
)

log = logging.getLogger(__name__)

PATH = "/replies"
#: Callbacks of one address that may be found unsigned or forged: at once, and from then on a second.
DOUBTS_AT_ONCE, DOUBTS_A_SECOND = 60.0, 5.0
#: Addresses that are remembered for it.
MOST_ADDRESSES = 10_000
#: Bytes of a callback besides its text: names and ids, and the escapes of JSON.
_REST_BYTES = 65_536


class Callback(BaseModel):
    """What a remote system says."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    session_id: str = Field(max_length=64)
    turn_number: int = Field(ge=1, le=10_000_000)
    participant: str = Field(min_length=1, max_length=200)
    reply_token: str = Field(min_length=1, max_length=64)
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a callback is answered."""

    status: int
    error: str = ""


_NOBODY = Verdict(401, "nobody who may call")
_TOO_MANY = Verdict(429, "too many that are not to be believed")


class Doubts:
    """How often each address has sent what is not to be believed: a bucket that fills again by the second.

    Whoever signs is never slowed down by it, unless they share their address with somebody who does not.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        #: Address -> what is left in its bucket, and as of when; the one longest unheard of first.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def is_too_much(self, address: str) -> bool:
        """Whether nothing from there is looked at for now."""
        return self._bucket(address) < 1

    def note(self, address: str) -> None:
        """Something from there was not to be believed."""
        left = self._bucket(address) - 1
        self._left.pop(address, None)
        self._left[address] = (left, self._now())
        if len(self._left) > MOST_ADDRESSES:
            self._left.popitem(last=False)

    def _bucket(self, address: str) -> float:
        left, as_of = self._left.get(address, (DOUBTS_AT_ONCE, self._now()))
        return min(left + (self._now() - as_of) * DOUBTS_A_SECOND, DOUBTS_AT_ONCE)


class Receiver:
    """Judges callbacks; safe to use from several threads."""

    def __init__(self, client: Client, registry: Registry) -> None:
        self._client = client
        self._registry = registry

    def receive(self, headers: dict[str, str], body: bytes) -> Verdict:
        """Takes one callback, or says why not; never raises."""
        try:
            callback = Callback.model_validate_json(body)
        except ValidationError:
            return Verdict(
                400, "must be JSON with session_id, turn_number, participant, reply_token and text"
            )
        try:
            return self._judge(callback, headers, body)
        except RedisUnavailable:
            return Verdict(503, "try again later")
        except SymposiaError as error:
            log.warning("a callback was refused: %s", error)
            return _NOBODY

    def _judge(self, callback: Callback, headers: dict[str, str], body: bytes) -> Verdict:
        if not all(headers.get(name) for name in (ID, TIMESTAMP, SIGNATURE)):
            return _NOBODY  # before anything is looked up for it
        job = self._client.get_live_job(callback.session_id)
        refusal = self._agent(job, callback).refusal(headers, body)
        if refusal is not None:
            log.warning("a callback for session %s was refused: %s", callback.session_id, refusal)
            # What is expired was signed with the secret. Nobody else is told more than of a session that is not there.
            return Verdict(401, refusal) if refusal == "expired" else _NOBODY
        try:
            job.reply(
                callback.participant, callback.text, token=callback.reply_token, turn=callback.turn_number
            )
        except ReplyRefused as error:
            return Verdict(409, error.word)
        except InvalidInput as error:
            return Verdict(422, str(error))
        return Verdict(200)

    def _agent(self, job: CollabJob, callback: Callback) -> ExternalAgent:
        """The remote system in the seat, whose secret the callback must be signed with. Raises SymposiaError."""
        binding = job.spec.agents.get(callback.participant)
        if binding is None:
            raise UnknownAgent(callback.participant)
        record = job.state().records.get(callback.turn_number)
        agent = self._registry.seat(binding.taken_by(record.agent if record else None))
        if not isinstance(agent, ExternalAgent):
            raise AgentError(f"{callback.participant!r} is no remote system")
        return agent


class _Plain(RequestHandler):
    """Errors in one line, and never a traceback; nothing is said about the program."""

    def prepare(self) -> None:
        """Whatever is asked for elsewhere: there is nothing."""
        self.send_error(404)

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    def write_error(self, status_code: int, **_kwargs: Any) -> None:
        self.write({"error": f"status {status_code}"})


class _Replies(_Plain):
    """The route."""

    def initialize(self, receiver: Receiver, doubts: Doubts) -> None:
        self._receiver = receiver
        self._doubts = doubts

    def prepare(self) -> None:
        """Here there is something."""

    async def post(self) -> None:
        """Judged in a thread: Redis is asked."""
        headers = {name: self.request.headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE)}
        address = self.request.remote_ip or ""
        if self._doubts.is_too_much(address):
            verdict = _TOO_MANY
            self.set_header("Retry-After", "1")
        else:
            verdict = await asyncio.to_thread(self._receiver.receive, headers, self.request.body)
        if verdict.status in (400, 401):
            self._doubts.note(address)
        self.set_status(verdict.status)
        await self.finish({"error": verdict.error} if verdict.error else {"status": "taken"})


def make_server(receiver: Receiver, *, max_message_bytes: int) -> HTTPServer:
    """The server, not listening yet."""
    routes = [(PATH, _Replies, {"receiver": receiver, "doubts": Doubts()})]
    application = Application(routes, default_handler_class=_Plain, log_function=_log_request)
    # A character of text may take six bytes of JSON.
    return HTTPServer(application, max_body_size=6 * max_message_bytes + _REST_BYTES, xheaders=False)


def _log_request(handler: RequestHandler) -> None:
    log.info("%s %s %s", handler.get_status(), handler.request.method, handler.request.path)


async def serve(server: HTTPServer, *, host: str, port: int) -> None:
    """Listens until it is cancelled. Raises InvalidInput for an address that cannot be listened on."""
    try:
        server.listen(port, host)
    except OSError as error:
        raise InvalidInput("port", port, f"must be free at {host}: {error.strerror}") from None
    try:
        await asyncio.Event().wait()
    finally:
        server.stop()
        await server.close_all_connections()
