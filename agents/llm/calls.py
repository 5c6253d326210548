"""Hooks around the calls of one model run: call journal, retries, fallback models.

A run is the work of an agent in one turn: it asks a model, runs the tools that the model calls, and asks
again until there is an answer. Each finished request and tool call is stored in the turn's call journal
before the run continues. So the next attempt of a turn whose worker died repeats no finished call.
"""

# ruff: noqa: ARG002 - hooks get more arguments than each of them needs
from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

from opentelemetry.trace import get_current_span
from pydantic import TypeAdapter
from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapModelRequestHandler, WrapToolExecuteHandler
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelRetry,
    RetryModelRequest,
    ToolRetryError,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputContext
from pydantic_ai.settings import ModelSettings
from pydantic_core import to_jsonable_python

from ...models.errors import AgentFailed
from ...models.modes.decisions import check_decision
from ...models.turns.streaming import ToolStatus, shorten_arguments
from ...models.turns.turn import Usage
from ..agent import TurnServices
from ..tables import ADVICE
from .approvals import AnswerNeeded, ApprovedCall, needs_approval, store_result
from .caching import CacheLife, cache_settings
from .errors import retry_pause_s
from .observing import clean_response, describe_prompt
from .settings import DecisionForm, PricedModel, usage_of
from .tools import ToolContext, use_effect_id

log = logging.getLogger(__name__)

#: Prefixes of call names in the journal.
REQUESTS, TOOLS = "model:", "tool:"

_RESPONSE: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)


@dataclass
class ModelCallHooks(AbstractCapability[ToolContext]):
    """The hooks of one run.

    Args:
        chain: The model and its fallback models, in their order.
        services: Services of the turn.
        request_key: Fingerprint of the turn's request without the dialog: a stored answer stays valid when
            others have spoken in the meantime.
        max_tries: Maximum number of attempts of a request at one model.
        deadline: The turn's deadline, by `time.monotonic()` (seconds).
    """

    chain: Sequence[PricedModel]
    services: TurnServices
    request_key: str
    max_tries: int
    deadline: float
    #: Usage of this attempt so far.
    spent: Usage = field(default_factory=Usage)
    #: Whether the session has a cost budget, which a model without a price does not use up.
    has_cost_budget: bool = False
    #: Texts that questions to people must not contain.
    secrets: Sequence[str] = ()
    #: How long a provider keeps the requests in its cache; None: it is not asked to.
    cache_life: CacheLife | None = None
    #: Whether a request that was too long for the model has been made shorter.
    is_shortened: bool = False
    _model_index: int = 0
    _tries: int = 0
    #: Number of messages of the newest observed request.
    _observed_messages: int = 0
    #: Number of messages in the first request; None before it.
    _initial_messages: int | None = None
    _tool_call_counts: Counter[str] = field(default_factory=Counter)

    async def wrap_model_request(
        self,
        ctx: RunContext[ToolContext],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Return the answer from the journal; if there is none, send the request and store its answer."""
        if self._initial_messages is None:
            self._initial_messages = len(request_context.messages)
        name = REQUESTS + fingerprint(
            self.request_key, _comparable_parts(request_context.messages[self._initial_messages :])
        )
        if self.services.listener is not None:
            self.services.listener.restart_output()
        if self.services.observer is not None:
            prompt = describe_prompt(request_context, since=self._observed_messages)
            self._observed_messages = len(request_context.messages)
            self.services.observer.observe_request(name, prompt)
        text = self.services.journal.get_answer(name)
        if text is not None:
            _mark_replayed()
            return _RESPONSE.validate_json(text)
        self._tries = 1
        request_context.model = self.chain[self._model_index].model
        if self.cache_life is not None and len(request_context.messages) > self._initial_messages:
            settings = cache_settings(self.cache_life, is_first=False)
            request_context.model_settings = cast(
                ModelSettings, {**(request_context.model_settings or {}), **settings}
            )
        response = await handler(request_context)
        _check_end(response, request_context)
        # The text of a provider's error may contain an API key.
        response = replace(clean_response(response), failed_attempts=None)
        source = self.chain[self._model_index]
        self.spent += usage_of(response, source.price)
        if self.has_cost_budget and source.price is None and response.usage.cost is None:
            _warn_of_unpriced(source.entry or response.model_name or "")
        answer = _RESPONSE.dump_json(response).decode()
        await self.services.journal.store_answers(
            {name: answer, self.services.usage_key: self.spent.model_dump_json()}
        )
        return response

    def begin_shorter_run(self) -> None:
        """Forget the messages of a run whose request was too long; what it spent stays counted."""
        self.is_shortened, self._initial_messages, self._observed_messages = True, None, 0

    async def delete_answers(self) -> None:
        """Delete unusable answers, so that they are requested again; their cost stays counted."""
        await self.services.journal.delete_answers(REQUESTS)

    async def on_model_request_error(
        self, ctx: RunContext[ToolContext], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Retry after a pause, then use the next model; raise `error` if there is none."""
        if isinstance(error, ModelContextWindowExceededError) and not self.is_shortened:
            raise error  # before a fallback model is asked, the same one is asked with a shorter dialog
        left_s = self.deadline - time.monotonic()
        pause = retry_pause_s(error, tries=self._tries, most_tries=self.max_tries, left_s=left_s)
        if pause is not None:
            self._tries += 1
            await asyncio.sleep(pause)
            raise RetryModelRequest
        if not isinstance(error, ModelAPIError) or self._model_index + 1 == len(self.chain):
            raise error
        self._model_index, self._tries = await self._next_model_below_limit(), 1
        raise RetryModelRequest(self.chain[self._model_index].model)

    async def _next_model_below_limit(self) -> int:
        """Return the index of the next model within its rate limit.

        Raises:
            AgentFailed: All have reached it; retryable when the first of them has room again.
        """
        waits = []
        for at in range(self._model_index + 1, len(self.chain)):
            limiter = self.services.rate_limiter
            wait_s = await limiter.acquire_request(self.chain[at].entry) if limiter else None
            if wait_s is None:
                return at
            waits.append(wait_s)
        raise AgentFailed("all fallback models have reached their rate limit", retry_after_s=min(waits))

    async def after_output_validate(
        self, ctx: RunContext[ToolContext], *, output_context: OutputContext, output: Any
    ) -> Any:
        """Reject a decision without a valid speaker, so that the model decides again."""
        if isinstance(output, DecisionForm) and not output.satisfied:
            turn = ctx.deps.turn
            _, fault = check_decision(output.to_decision(), turn.roster, turn.me.participant_id)
            if fault:
                raise ModelRetry(f"Not a valid choice: {fault}. Choose again.")
        return output

    async def wrap_tool_execute(
        self,
        ctx: RunContext[ToolContext],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run each tool call once per turn; the same call, repeated in one run, counts as another call.

        Raises:
            AnswerNeeded: The call needs an approval.
            AgentFailed: The session has no person who may approve it.
        """
        call_key = fingerprint(call.tool_name, to_jsonable_python(args, fallback=str))
        self._tool_call_counts[call_key] += 1
        number = f"{call_key}:{self._tool_call_counts[call_key]}"
        self._observe_tool_call(TOOLS + number, call.tool_name, args)
        text = self.services.journal.get_answer(TOOLS + number)
        if text is not None:
            _mark_replayed()
            return json.loads(text)
        async with self._reporting(number, call.tool_name, args):
            return await self._run_tool(
                ctx, number, call.tool_name, tool_def=tool_def, args=args, handler=handler
            )

    async def _run_tool(
        self,
        ctx: RunContext[ToolContext],
        number: str,
        tool: str,
        *,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        with (
            use_effect_id(f"{ctx.deps.turn.effect_id}:{tool}:{number}"),
            self._observing_retry(TOOLS + number),
        ):
            if needs_approval(tool_def):
                approved = ApprovedCall(self.services, TOOLS + number, self.secrets)
                return await approved.execute(ctx.deps.turn, ctx.deps.effect_id, tool_def, args, handler)
            result = await handler(args)
        return await store_result(self.services.journal, TOOLS + number, result)

    @asynccontextmanager
    async def _reporting(self, call: str, tool: str, args: dict[str, Any]) -> AsyncIterator[None]:
        """Report the begin and the end of a tool call to the listener, if there is one."""
        listener = self.services.tool_listener
        if listener is None:
            yield
            return
        shown = shorten_arguments(to_jsonable_python(args, fallback=str), self.secrets)
        began, status = time.monotonic(), ToolStatus.ERROR
        await listener.report_tool(call, tool, shown, status=ToolStatus.RUNNING)
        try:
            yield
            status = ToolStatus.OK
        except (ToolRetryError, ModelRetry):
            status = ToolStatus.RETRY
            raise
        except AnswerNeeded:
            status = ToolStatus.WAITING
            raise
        finally:
            took_ms = round((time.monotonic() - began) * 1000)
            await listener.report_tool(call, tool, shown, status=status, duration_ms=took_ms)

    def _observe_tool_call(self, call: str, tool: str, args: dict[str, Any]) -> None:
        if self.services.observer is None:
            return
        arguments = to_jsonable_python(args, fallback=str)
        retry = self.services.observer.observe_tool_call(call, tool, arguments)
        if retry is not None:
            raise ModelRetry(retry)

    @contextmanager
    def _observing_retry(self, call: str) -> Iterator[None]:
        """Pass on that a tool asks for a corrected call."""
        try:
            yield
        except ToolRetryError as error:
            if self.services.observer is not None and isinstance(error.__cause__, ModelRetry):
                self.services.observer.observe_tool_retry(call, error.__cause__.message)
            raise


@lru_cache(maxsize=1_024)  # the cache makes each warning unique
def _warn_of_unpriced(model: str) -> None:
    """Log, once in this process, that cost budgets do not count a model."""
    log.warning("model %s has no price, so cost budgets do not count its requests: %s", model, ADVICE)


def _mark_replayed() -> None:
    """Mark the current span, if there is one: its call was answered from the journal, at no cost."""
    get_current_span().set_attribute("symposia.replayed", True)


def _check_end(response: ModelResponse, request: ModelRequestContext) -> None:
    """Raise ModelConnectionError for a stream without an end marker: its connection was lost.

    Servers of OpenAI's protocol end a stream with a finish reason, and nearly all also with the usage.
    """
    has_end = (response.provider_details or {}).get("finish_reason") or response.usage.output_tokens
    if request.streaming and not has_end and isinstance(request.model, OpenAIChatModel):
        raise ModelConnectionError(
            request.model.model_name, "the response stream ended before the answer was complete", phase="read"
        )


def fingerprint(*parts: object) -> str:
    """Return a fingerprint that is the same for the same JSON data."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return sha256(text.encode()).hexdigest()[:32]


def _comparable_parts(messages: Sequence[ModelMessage]) -> list[Any]:
    """Return the messages of a run without the times and ids that differ between attempts."""
    data = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [
        [{name: value for name, value in part.items() if name != "timestamp"} for part in message["parts"]]
        for message in data
    ]
