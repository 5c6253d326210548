"""Model requests through the batch API of a provider, which cost less and are answered within a day.

The attempt of a turn submits its request and ends with the handle of the batch, and the turn is parked. When the batch
has ended, the next attempt of the turn reads the answer.

The turn stores the key of its batch in its call journal before the batch is submitted. OpenAI's API keeps the key as
metadata of the batch. So if a worker dies before it has stored the id, the next attempt finds the batch by the key. The
APIs of other providers find no batch by a key: such a request is submitted again.
"""

from __future__ import annotations

import logging
import time
from typing import NoReturn, cast

from pydantic import BaseModel, ConfigDict
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models._batch_codec import BatchJobError
from pydantic_ai.models.batch import Batch, BatchRequest
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ...models.errors import AgentFailed
from ...models.turns.turn import Question
from ..agent import TurnServices
from .approvals import AnswerNeeded
from .call_names import fingerprint
from .errors import is_transient
from .provider_batches import batches_of_running_loop, find_batch

log = logging.getLogger(__name__)

#: Prefix of the journal keys of submitted requests; the names of the model and the request follow.
BATCHES = "batch:"
#: Maximum number of batches for one request: a batch may expire.
MAX_SUBMISSIONS = 3
#: Status of the error of a batch that was cancelled.
_CANCELLED = 499
#: Seconds until a request is submitted again that was refused because too many tokens wait at the provider.
QUEUE_PAUSE_S = 900.0


class BatchTicket(BaseModel):
    """What the call journal of a turn has of a request in a batch."""

    model_config = ConfigDict(frozen=True)

    #: Key of the batch, chosen before it is submitted.
    key: str
    #: What requests of one batch share.
    group: str
    #: Time before the submission, in seconds since the epoch.
    submitted_s: float
    #: Number of batches of this request, this one included.
    submissions: int = 1
    #: None: it is not known whether the batch was submitted.
    batch: Batch | None = None


class BatchHandle(BaseModel):
    """What a parked turn has of its batch, to check and to cancel it."""

    model_config = ConfigDict(frozen=True)

    #: Name of the model in the registry.
    entry: str
    batch: Batch


class BatchModel(WrapperModel):
    """A model whose requests go through the batch API of its provider.

    Args:
        wrapped: The model.
        entry: Its name in the registry.
        participant: Participant whose turn it is.
        services: Services of the turn.

    Raises:
        AgentFailed: The model has no batch API; not retryable.
    """

    def __init__(self, wrapped: Model, entry: str, participant: str, services: TurnServices) -> None:
        super().__init__(wrapped)
        if wrapped.batch_max_requests is None:
            rule = "models of openai, anthropic and google have one"
            raise AgentFailed(f"model {wrapped.model_name!r} has no batch API: {rule}", retryable=False)
        self._entry = entry
        self._participant = participant
        self._services = services
        #: Name of the next request in the call journal.
        self.request_name = ""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the answer from the batch of the request.

        Raises:
            AnswerNeeded: The batch has not ended. A request that was in no batch is submitted before.
            ModelAPIError: The provider refused the request, or does not answer.
            AgentFailed: No batch had an answer; not retryable. Or too many tokens wait at the provider; retryable.
        """
        # A provider that refuses the form of the answer gets the request again without it, as another request.
        form = "" if model_request_parameters.output_object is None else ":form"
        name = f"{BATCHES}{self._entry}:{self.request_name}{form}"
        settings = {key: value for key, value in (model_settings or {}).items() if key != "timeout"}
        request = BatchRequest(
            custom_id=fingerprint(name),
            messages=messages,
            model_settings=cast("ModelSettings", settings),
            model_request_parameters=model_request_parameters,
        )
        ticket = await self._find_ticket(name)
        if ticket is None or ticket.batch is None:
            return await self._submit(name, request, submissions=ticket.submissions if ticket else 1)
        batch = await batches_of_running_loop().status(self.wrapped, ticket.batch)
        if batch.status != "ended":
            self._wait_for(name, ticket.batch)
        return await self._read_result(name, request, batch, ticket.submissions)

    async def _find_ticket(self, name: str) -> BatchTicket | None:
        """Return the ticket of a request; None: it was not submitted."""
        text = self._services.journal.get_answer(name)
        ticket = None if text is None else BatchTicket.model_validate_json(text)
        if ticket is not None and ticket.batch is None:
            batch = await find_batch(self.wrapped, ticket.key, ticket.group, submitted_s=ticket.submitted_s)
            if batch is not None:
                ticket = ticket.model_copy(update={"batch": batch})
                await self._store(name, ticket)
        return ticket

    async def _submit(self, name: str, request: BatchRequest, *, submissions: int) -> NoReturn:
        encoded = await self.wrapped.batch_encode(request)
        tickets: list[BatchTicket] = []

        async def mark(key: str) -> None:
            ticket = BatchTicket(
                key=key, group=encoded.group, submitted_s=time.time(), submissions=submissions
            )
            tickets.append(ticket)
            await self._store(name, ticket)
            # A frozen worker may have lost the turn, and Redis may not have stored the key.
            if self._services.confirm_turn is not None:
                await self._services.confirm_turn()

        batch = await batches_of_running_loop().submit(self.wrapped, encoded, mark)
        await self._store(name, tickets[-1].model_copy(update={"batch": batch}))
        self._wait_for(name, batch)

    async def _store(self, name: str, ticket: BatchTicket) -> None:
        await self._services.journal.store_answers({name: ticket.model_dump_json()})

    def _wait_for(self, name: str, batch: Batch) -> NoReturn:
        handle = BatchHandle(entry=self._entry, batch=batch)
        raise AnswerNeeded(Question(to=self._participant, call=name, batch=handle.model_dump_json()))

    async def _read_result(
        self, name: str, request: BatchRequest, batch: Batch, submissions: int
    ) -> ModelResponse:
        """Return the answer from an ended batch; submit the request again if the batch has none."""
        if _has_full_queue(batch):
            await self._services.journal.delete_answers(name)
            raise AgentFailed(
                f"batch {batch.id}: the requests that wait at the provider have reached its token limit",
                retry_after_s=QUEUE_PAUSE_S,
            )
        reason = f"batch {batch.id} ended without an answer"
        try:
            result = await batches_of_running_loop().result(self.wrapped, batch, request.custom_id)
        except BatchJobError as error:  # of Google, whose lost batches list no results
            if error.status_code != _CANCELLED and not is_transient(error):
                raise
            result, reason = None, f"{reason}: {error}"
        if result is not None:
            try:
                return self.wrapped.batch_decode(result, request)
            except ModelAPIError as error:
                if result.status == "errored" and not is_transient(error):
                    raise
                reason = f"batch {batch.id}: {error}"
        if submissions >= MAX_SUBMISSIONS:
            await self._services.journal.delete_answers(name)
            raise AgentFailed(f"{reason} (submitted {submissions} times)", retryable=False)
        log.warning("%s; submitting the request again", reason)
        return await self._submit(name, request, submissions=submissions + 1)


def _has_full_queue(batch: Batch) -> bool:
    """Return whether OpenAI refused a batch because of its limit of waiting tokens."""
    errors = (batch.provider_details or {}).get("errors") or ()
    return any(isinstance(error, dict) and error.get("code") == "token_limit_exceeded" for error in errors)
