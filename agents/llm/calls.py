"""Hooks around the calls of one model run: call journal, retries, fallback models.

A run is the work of an agent in one turn: it asks a model, runs the tools that the model calls, and asks
again until there is an answer. Each finished request and tool call is stored in the turn's call journal
before the run continues. So the next attempt of a turn whose worker died repeats no finished call.
"""

# ruff: noqa: ARG002 - hooks get more arguments than each of them needs
from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapModelRequestHandler, WrapToolExecuteHandler
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelRetry,
    RetryModelRequest,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputContext, OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from ...models.errors import AgentFailed
from ...models.modes.decisions import check_decision
from ...models.turns.tool_uses import ToolUse
from ...models.turns.turn import Usage
from ..agent import TurnServices
from .batches import BATCHES, BatchModel
from .caching import CacheLife, cache_settings
from .call_names import REQUESTS, fingerprint, mark_replayed
from .errors import is_provider_error, retry_pause_s
from .observing import clean_response, describe_prompt
from .parsing import AnswerReader
from .request_cost import affordable_answer
from .review_form import refuses_form, with_form
from .settings import DecisionForm, PricedModel, usage_of
from .tool_calls import ToolCalls
from .tools import ToolContext

log = logging.getLogger(__name__)

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
        max_cost_micros: Millionths of a US dollar that the requests of the turn may cost together; None: no limit.
    """

    chain: Sequence[PricedModel]
    services: TurnServices
    request_key: str
    max_tries: int
    deadline: float
    max_cost_micros: int | None = None
    #: Usage of this attempt so far.
    spent: Usage = field(default_factory=Usage)
    #: Texts that questions to people must not contain.
    secrets: Sequence[str] = ()
    #: How long a provider keeps the requests in its cache; None: it is not asked to.
    cache_life: CacheLife | None = None
    #: Whether a request that was too long for the model has been made shorter.
    is_shortened: bool = False
    #: Form of the answers, until a provider refuses it; None: text.
    form: OutputObjectDefinition | None = None
    #: Reader of the answers; None: they are taken as they are.
    reader: AnswerReader | None = None
    _model_index: int = 0
    _tries: int = 0
    #: Number of messages of the newest observed request.
    _observed_messages: int = 0
    #: Number of messages in the first request; None before it.
    _initial_messages: int | None = None
    _tools: ToolCalls | None = None

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
            prompt = describe_prompt(self._with_form(request_context), since=self._observed_messages)
            self._observed_messages = len(request_context.messages)
            self.services.observer.observe_request(name, prompt)
        text = self.services.journal.get_answer(name)
        if text is not None:
            mark_replayed()
            return self._read_answer(_RESPONSE.validate_json(text), request_context)
        for source in self.chain:
            if isinstance(source.model, BatchModel):
                source.model.request_name = name
        self._tries = 1
        request_context.model = self.chain[self._model_index].model
        if self.cache_life is not None and len(request_context.messages) > self._initial_messages:
            settings = cache_settings(self.cache_life, is_first=False)
            request_context.model_settings = _with(request_context.model_settings, **settings)
        if self._tools is not None and self._tools.are_off:
            # The definitions stay: without them, APIs refuse the earlier calls, and caches lose the request.
            request_context.model_settings = _with(request_context.model_settings, tool_choice="none")
        self._limit_answer(request_context)
        response = await handler(request_context)
        _check_end(response, request_context)
        # The text of a provider's error may contain an API key.
        response = replace(clean_response(response), failed_attempts=None)
        source = self.chain[self._model_index]
        self.spent += usage_of(response, source.price)
        answer = _RESPONSE.dump_json(response).decode()
        await self.services.journal.store_answers(
            {name: answer, self.services.usage_key: self.spent.model_dump_json()}
        )
        return self._read_answer(response, request_context)

    async def prepare_model_request(
        self, ctx: RunContext[ToolContext], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Ask for the form of the answer, in each attempt before a provider refuses it."""
        return self._with_form(request_context)

    def _with_form(self, request: ModelRequestContext) -> ModelRequestContext:
        if self.form is None:
            return request
        return replace(
            request, model_request_parameters=with_form(request.model_request_parameters, self.form)
        )

    def _limit_answer(self, request: ModelRequestContext) -> None:
        """Limit the answer of a request to what the reservation of the turn pays for. Raises AgentFailed."""
        source = self.chain[self._model_index]
        price = source.price or source.listed
        if self.max_cost_micros is None or price is None:
            return
        affordable = affordable_answer(
            self._with_form(request),
            price,
            left_micros=self.max_cost_micros - self.spent.cost_micros,
            is_first=not self.spent.requests,
        )
        most = (request.model_settings or {}).get("max_tokens")
        if affordable is not None and (most is None or affordable < most):
            request.model_settings = _with(request.model_settings, max_tokens=affordable)

    def _read_answer(self, response: ModelResponse, request: ModelRequestContext) -> ModelResponse:
        if self.reader is None:
            return response
        # Not what this attempt spent: a replayed answer is read as it was the first time.
        self.reader.spent += usage_of(response, self.chain[self._model_index].price)
        return self.reader.read(response, request.messages, request.model_request_parameters)

    def begin_shorter_run(self) -> None:
        """Forget the messages of a run whose request was too long; what it spent stays counted."""
        self.is_shortened, self._initial_messages, self._observed_messages = True, None, 0

    async def delete_answers(self) -> None:
        """Delete unusable answers, so that they are requested again; their cost stays counted."""
        for kind in (REQUESTS, BATCHES):
            await self.services.journal.delete_answers(kind)

    async def on_model_request_error(
        self, ctx: RunContext[ToolContext], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Retry after a pause, then use the next model; raise `error` if there is none."""
        if isinstance(error, ModelContextWindowExceededError) and not self.is_shortened:
            raise error  # before a fallback model is asked, the same one is asked with a shorter dialog
        if self.form is not None and refuses_form(error):
            log.warning(
                "a model refused a JSON schema, asking without one (review_schema): %s", type(error).__name__
            )
            self.form = None
            raise RetryModelRequest
        left_s = self.deadline - time.monotonic()
        pause = retry_pause_s(error, tries=self._tries, most_tries=self.max_tries, left_s=left_s)
        if pause is not None:
            self._tries += 1
            await asyncio.sleep(pause)
            raise RetryModelRequest
        if not is_provider_error(error) or self._model_index + 1 == len(self.chain):
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
            _, fault = check_decision(
                output.to_decision(), turn.roster, turn.me.participant_id, structured=True
            )
            if fault:
                raise ModelRetry(fault)
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
        """As in `ToolCalls.execute`."""
        if self._tools is None:
            self._tools = ToolCalls(self.services, self.secrets)
        return await self._tools.execute(ctx, call, tool_def, args, handler)

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """Tool calls so far, with their results."""
        return tuple(self._tools.uses) if self._tools else ()


def _with(settings: ModelSettings | None, **more: Any) -> ModelSettings:
    return cast("ModelSettings", {**(settings or {}), **more})


def _check_end(response: ModelResponse, request: ModelRequestContext) -> None:
    """Raise ModelConnectionError for a stream without an end marker: its connection was lost.

    Servers of OpenAI's protocol end a stream with a finish reason, and nearly all also with the usage.
    """
    has_end = (response.provider_details or {}).get("finish_reason") or response.usage.output_tokens
    if request.streaming and not has_end and isinstance(request.model, OpenAIChatModel):
        raise ModelConnectionError(
            request.model.model_name, "the response stream ended before the answer was complete", phase="read"
        )


def _comparable_parts(messages: Sequence[ModelMessage]) -> list[Any]:
    """Return the messages of a run without the times and ids that differ between attempts."""
    data = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [
        [{name: value for name, value in part.items() if name != "timestamp"} for part in message["parts"]]
        for message in data
    ]
