"""Batches at a provider: requests of several turns are gathered, submitted, found again, checked and cancelled."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

from openai import APIError, APIStatusError
from openai.types import Batch as OpenAIBatch
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.models import Model
from pydantic_ai.models.batch import Batch, BatchResult, EncodedBatchRequest
from pydantic_ai.models.openai import OpenAIResponsesModel

log = logging.getLogger(__name__)

#: Seconds for which a batch waits for requests of other turns, and the maximum number of its requests.
GATHER_S = 1.0
MAX_REQUESTS = 1_000
#: Seconds for which the status of a batch is valid for the other turns that wait for it.
STATUS_S = 2.0
#: Number of batches whose status is kept in memory, and of those whose results are.
_MAX_STATUSES, _MAX_RESULTS = 1_000, 16
#: Key of the metadata of a batch.
_MARK = "symposia"
#: Seconds by which the clock of a provider may be behind.
_CLOCK_SLACK_S = 3_600
_OPENAI_URL: Final = "/v1/responses"
#: Seconds after which OpenAI deletes the files of a batch.
_FILES_TTL_S = 3 * 86_400


@dataclass(eq=False)
class _OpenBatch:
    """A batch to which requests are added."""

    key: str
    submitted: asyncio.Future[Batch]
    requests: dict[str, EncodedBatchRequest] = field(default_factory=dict)
    is_closed: bool = False


class ProviderBatches:
    """The batches of one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenBatch] = {}
        self._statuses: dict[str, tuple[float, Batch]] = {}
        self._results: dict[str, dict[str, BatchResult]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(
        self, model: Model, request: EncodedBatchRequest, mark: Callable[[str], Awaitable[None]]
    ) -> Batch:
        """Submit a request with those of other turns, and return the handle of the batch.

        Args:
            model: The model.
            request: The request.
            mark: Stores the key of the batch; called before the batch is submitted.

        Raises:
            ModelAPIError: The provider does not accept the batch.
        """
        while True:
            batch = self._open.get(request.group) or self._begin(model, request.group)
            await mark(batch.key)
            if not batch.is_closed:
                break
        batch.requests[request.custom_id] = request
        if len(batch.requests) >= min(MAX_REQUESTS, model.batch_max_requests or 1):
            self._close(model, request.group, batch)
        try:
            return await asyncio.shield(batch.submitted)
        except asyncio.CancelledError:
            # If the batch was sent, the next attempt of the turn finds it by its key.
            batch.requests.pop(request.custom_id, None)
            raise

    def _begin(self, model: Model, group: str) -> _OpenBatch:
        loop = asyncio.get_running_loop()
        batch = self._open[group] = _OpenBatch(uuid4().hex, loop.create_future())
        loop.call_later(GATHER_S, self._close, model, group, batch)
        return batch

    def _close(self, model: Model, group: str, batch: _OpenBatch) -> None:
        if batch.is_closed:
            return
        batch.is_closed = True
        del self._open[group]
        task = asyncio.get_running_loop().create_task(self._send(model, batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, model: Model, batch: _OpenBatch) -> None:
        if not batch.requests:
            batch.submitted.cancel()
            return
        requests = list(batch.requests.values())
        try:
            created = await create_batch(model, batch.key, requests)
        except Exception as error:  # noqa: BLE001 - raised in the turns that wait for it
            batch.submitted.set_exception(error)
            return
        batch.submitted.set_result(created)
        log.info("submitted batch %s with %d requests to %s", created.id, len(requests), model.model_name)

    async def status(self, model: Model, batch: Batch) -> Batch:
        """Return the current state of a batch. Raises ModelAPIError."""
        read_at, status = self._statuses.get(batch.id, (None, batch))
        is_old = read_at is None or time.monotonic() > read_at + STATUS_S
        if status.status != "ended" and is_old:
            status = await model.batch_status(batch)
            _remember(self._statuses, batch.id, (time.monotonic(), status), limit=_MAX_STATUSES)
        return status

    async def result(self, model: Model, batch: Batch, custom_id: str) -> BatchResult | None:
        """Return the result of one request of an ended batch; None: there is none. Raises ModelAPIError."""
        results = self._results.get(batch.id)
        if results is None:
            results = {result.custom_id: result for result in await model.batch_results(batch)}
            _remember(self._results, batch.id, results, limit=_MAX_RESULTS)
        return results.get(custom_id)

    async def cancel(self, model: Model, batch: Batch) -> None:
        """Cancel a batch at its provider; an error is logged."""
        try:
            await model.batch_cancel(batch)
        except ModelAPIError as error:
            log.warning("cancelling batch %s at the provider failed: %s", batch.id, error)
        else:
            log.info("cancelled batch %s at the provider", batch.id)


def _remember(cache: dict[str, Any], batch_id: str, value: object, *, limit: int) -> None:
    """Add a value to a cache, and remove the oldest ones over the limit."""
    cache[batch_id] = value
    while len(cache) > limit:
        del cache[next(iter(cache))]


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, ProviderBatches] = WeakKeyDictionary()


def batches_of_running_loop() -> ProviderBatches:
    """Return the batches of the running event loop."""
    return _of_loops.setdefault(asyncio.get_running_loop(), ProviderBatches())


async def create_batch(model: Model, key: str, requests: Sequence[EncodedBatchRequest]) -> Batch:
    """Submit a batch; with OpenAI's API it can be found by its key.

    Raises:
        ModelAPIError: The provider does not accept it, or does not answer.
    """
    if not isinstance(model, OpenAIResponsesModel):
        return await model.batch_create(requests)
    client = model.client.with_options(max_retries=0)  # the caller retries, and looks for the batch first
    lines = "\n".join(map(_input_line, requests))
    with _model_errors(model):
        file = await client.files.create(
            file=("batch.jsonl", lines.encode()),
            purpose="batch",
            expires_after={"anchor": "created_at", "seconds": _FILES_TTL_S},
        )
        created = await client.batches.create(
            input_file_id=file.id,
            endpoint=_OPENAI_URL,
            completion_window="24h",
            metadata={_MARK: key},
            output_expires_after={"anchor": "created_at", "seconds": _FILES_TTL_S},
        )
    return _handle(model, created, requests[0].group)


def _input_line(request: EncodedBatchRequest) -> str:
    line = {"custom_id": request.custom_id, "method": "POST", "url": _OPENAI_URL}
    return json.dumps({**line, "body": json.loads(request.body)})


async def find_batch(model: Model, key: str, group: str, *, submitted_s: float) -> Batch | None:
    """Return the batch that was submitted with a key; None: there is none, or the API keeps no keys.

    Args:
        model: The model.
        key: Key of the batch.
        group: Group of its requests.
        submitted_s: Time of the submission, in seconds since the epoch.

    Raises:
        ModelAPIError: The provider does not answer.
    """
    if not isinstance(model, OpenAIResponsesModel):
        return None
    with _model_errors(model):
        async for batch in model.client.with_options(max_retries=0).batches.list(limit=100):
            if (batch.metadata or {}).get(_MARK) == key:
                return _handle(model, batch, group)
            if batch.created_at < submitted_s - _CLOCK_SLACK_S:
                break
    return None


def _handle(model: Model, batch: OpenAIBatch, group: str) -> Batch:
    return Batch(
        id=batch.id,
        model_name=model.model_name,
        provider_name=model.system,
        group=group,
        status="in_progress",  # until its status is read
        created_at=datetime.fromtimestamp(batch.created_at, UTC),
        request_count=batch.request_counts.total if batch.request_counts else 0,
    )


@contextmanager
def _model_errors(model: Model) -> Iterator[None]:
    """Convert errors of OpenAI's client to those of pydantic-ai."""
    try:
        yield
    except APIStatusError as error:
        raise ModelHTTPError(error.status_code, model.model_name, error.body) from error
    except APIError as error:
        raise ModelAPIError(model.model_name, error.message) from error
