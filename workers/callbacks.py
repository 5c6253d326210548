"""HTTP receiver of callbacks: the route on which remote systems answer their turns.

    POST /replies   {"session_id": ..., "turn_number": ..., "participant": ..., "reply_token": ..., "text": ...}

signed like the webhook that delivered the turn (`agents/remote/webhook.py`). A caller that cannot sign gets
no information, not even whether the session exists. A callback is accepted once: its reply token is valid for
one answer of one turn, so a replayed callback is refused because the turn is over. `callbacks_server.py` serves it.

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

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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
MOST_ADDRESSES = 10_000


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
        if len(self._left) > MOST_ADDRESSES:
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
