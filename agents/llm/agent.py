"""Agents that are language models, through pydantic-ai: all its providers, and OpenAI-compatible URLs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent as ModelAgent
from pydantic_ai import RunContext, UsageLimits
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import AgentStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models.instrumented import InstrumentationSettings

from ...models.errors import AgentError, AgentFailed
from ...models.protocol.dialog import CUT_LINES, CutReason, Message, message_digest
from ...models.turns.streaming import OutputListener
from ...models.turns.turn import REVIEW_PARAMETER, TurnContext, TurnOutcome, Usage
from ..agent import TurnServices
from .approvals import AnswerNeeded, without_tool_answers
from .attachments import files_for_model, name_attachments
from .call_names import fingerprint
from .calls import ModelCallHooks
from .clients import RefusingModel, pool_of_running_loop
from .context import (
    SUMMARY_INSTRUCTIONS,
    DialogCut,
    DialogLimits,
    ModelHistory,
    build_history,
    first_cut,
    has_pinned_opening,
    split_dialog,
    summary_prompt,
)
from .errors import model_failure
from .prompts import without_own_name
from .settings import DecisionForm, LLMSettings, ModelSource, PricedModel, ReviewForm, require_prices
from .tools import Toolbox, ToolContext, Toolset, provider_tools, review_toolsets

#: Maximum corrections of the calls of one tool in a row; a further one is a failure of the tool.
MAX_TOOL_RETRIES = 3

#: The rest of a cut review is unknown; the same request would be cut again.
_CUT = "the review was cut at the token limit of the answer (finish reason: length): raise max_tokens of the model"

#: Fields of the context that are no part of the request key: they may differ between two attempts of a turn.
_CUT_REASONS = {"length": CutReason.LENGTH, "content_filter": CutReason.FILTER}
_VOLATILE_FIELDS = {"messages", "memory", "attempt", "remaining", "timeout_s", "approvers", "observers"}


class LLMAgent:
    """The agent of a language model.

    Args:
        sources: Returns the model and its fallback models, or raises AgentError if there is none. Called for
            each turn, because an API key and the URL of a local server may change.
        llm_settings: Settings of its model calls.
        toolbox: Tools that it may call; None: no tools.
    """

    def __init__(
        self,
        sources: Callable[[], Sequence[ModelSource]],
        llm_settings: LLMSettings,
        *,
        toolbox: Toolbox | None = None,
    ) -> None:
        self._sources = sources
        self._settings = llm_settings
        self._toolbox = toolbox

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Ask the model.

        Raises:
            AgentError: The model gave no usable answer; the error has no secrets, and `retryable` says
                whether a retry may succeed.
        """
        return await self.speak_with_services(turn, TurnServices())

    async def speak_with_services(self, turn: TurnContext, turn_services: TurnServices) -> TurnOutcome:
        """Ask the model as `speak` does, with the services of the turn."""
        sources = self._sources()
        if turn_services.observer is not None:
            turn_services.observer.hide_secrets(self._secrets(sources))
        try:
            calls = await self._create_hooks(without_tool_answers(turn), turn_services, sources)
            try:
                return await self._ask_model(turn, calls)
            except AnswerNeeded as needed:
                return needed.to_outcome(calls.spent)
            except UnexpectedModelBehavior:
                await calls.delete_answers()
                raise
        except AgentError:
            raise
        except Exception as error:
            raise model_failure(error, secrets=self._secrets(sources)) from error

    async def _create_hooks(
        self, turn: TurnContext, turn_services: TurnServices, sources: Sequence[ModelSource]
    ) -> ModelCallHooks:
        if turn.remaining.cost_micros is not None:
            require_prices(sources)
        llm_settings, pool = self._settings, pool_of_running_loop()
        spent = turn_services.journal.get_answer(turn_services.usage_key)
        asked = turn.model_dump_json(exclude=_VOLATILE_FIELDS)
        models = await pool.available_models([source.model for source in sources])
        available = [
            (model, source) for model, source in zip(models, sources, strict=True) if model is not None
        ]
        if turn_services.replayed_tools is not None:
            available = [(RefusingModel(model), source) for model, source in available]
        return ModelCallHooks(
            chain=[PricedModel(model, source.price, source.entry) for model, source in available],
            services=turn_services if llm_settings.stream else replace(turn_services, listener=None),
            request_key=fingerprint(sources[0].name, str(llm_settings), asked),
            max_tries=llm_settings.retries + 1,
            deadline=time.monotonic() + turn.timeout_s,
            spent=Usage.model_validate_json(spent) if spent else Usage(),
            secrets=self._secrets(sources),
        )

    async def _build_history(self, turn: TurnContext, calls: ModelCallHooks) -> ModelHistory:
        """Return the dialog for the model; messages that no longer fit are summarised or left out."""
        settings, notes = self._settings, calls.services.notes
        limits = DialogLimits(settings.dialog_tokens(turn), settings.max_messages)
        if has_pinned_opening(turn) or limits.allow(turn.messages, limits.tokens):
            return build_history(turn, max_tokens=limits.tokens, plain=settings.plain)
        note = await notes.read_note()
        if note:
            cut = DialogCut.model_validate_json(note)
        else:
            cut = DialogCut() if settings.summary else first_cut(turn, limits, window=settings.window)
        folded = split_dialog(turn.messages, cut, limits).to_leave_out
        if folded:
            # The reservation of a turn with a token limit does not cover a summary.
            summarizes = settings.summary and turn.remaining.tokens is None
            text = await self._summarize(turn, calls, cut.text, folded) if summarizes else cut.text
            cut = cut.moved(folded, text)
            await notes.write_note(cut.model_dump_json())
        return build_history(turn, max_tokens=limits.tokens, plain=settings.plain, cut=cut)

    async def _summarize(
        self, turn: TurnContext, calls: ModelCallHooks, summary: str, folded: Sequence[Message]
    ) -> str:
        """Return the summary extended by messages; requested once, and its usage counts for the turn."""
        asked = fingerprint(calls.request_key, message_digest(folded[-1]))
        aside = replace(calls, services=replace(calls.services, listener=None), request_key=asked)
        answer = await _model_agent().run(
            summary_prompt(turn, summary, folded),
            model=calls.chain[0].model,
            deps=ToolContext(turn),
            instructions=SUMMARY_INSTRUCTIONS,
            model_settings=self._settings.model_settings(turn),
            capabilities=_capabilities(aside),
        )
        calls.spent = aside.spent
        return answer.output

    async def _ask_model(self, whole_turn: TurnContext, calls: ModelCallHooks) -> TurnOutcome:
        turn = await name_attachments(without_tool_answers(whole_turn))
        shown = await self._build_history(turn, calls)
        files = await files_for_model(shown.messages, self._settings.attachments)
        answer = await _model_agent().run(
            [shown.prompt, *files] if files else shown.prompt,
            model=calls.chain[0].model,
            deps=ToolContext(whole_turn),
            output_type=self._settings.form(turn) or str,
            instructions=self._settings.system_prompt(turn),
            message_history=shown.earlier,
            model_settings=self._settings.model_settings(turn),
            toolsets=self._toolsets(turn, calls),
            usage_limits=UsageLimits(request_limit=self._settings.max_requests),
            retries={"output": self._settings.output_retries, "tools": MAX_TOOL_RETRIES},
            capabilities=[*_capabilities(calls), *provider_tools(self._settings.provider_tools)],
            event_stream_handler=_stream_handler(calls.services.listener)
            if calls.services.listener
            else None,
        )
        if REVIEW_PARAMETER in turn.parameters and answer.response.finish_reason == "length":
            raise AgentFailed(_CUT, retryable=False)
        outcome = _outcome(answer, turn, calls.spent)
        cut = _CUT_REASONS.get(answer.response.finish_reason or "")
        if cut is not None and self._settings.fails_if_cut:
            raise AgentFailed(f"the answer was {CUT_LINES[cut]}", retryable=False)
        more = {"left_out": shown.left_out, "cut": cut, "tool_uses": calls.tool_uses}
        return outcome.model_copy(update=more)

    def _toolsets(self, turn: TurnContext, calls: ModelCallHooks) -> Sequence[Toolset] | None:
        services = calls.services
        if self._toolbox is None:
            own: Sequence[Toolset] = ()
        elif services.replayed_tools is not None:
            own = self._toolbox.replayed_toolsets(services.replayed_tools)
        else:
            own = self._toolbox.toolsets()
        return [*own, *review_toolsets(turn, services.review_files)] or None

    def _secrets(self, sources: Sequence[ModelSource]) -> tuple[str, ...]:
        keys = [source.secret for source in sources if source.secret]
        return (*keys, *(self._toolbox.secrets() if self._toolbox else ()))


def _outcome(answer: AgentRunResult[Any], turn: TurnContext, spent: Usage) -> TurnOutcome:
    match answer.output:
        case DecisionForm() | ReviewForm() as form:
            return form.to_outcome(spent)
        case BaseModel() as form:
            outcome = TurnOutcome.say(form.model_dump_json(), usage=spent)
            return outcome.model_copy(update={"output": form.model_dump(mode="json")})
        case dict() as data:
            return TurnOutcome(output=data, usage=spent)
        case output:
            text = without_own_name(str(output), turn.me)
    if not text:
        reason = answer.response.finish_reason
        raise UnexpectedModelBehavior(f"the model returned an empty answer (finish reason: {reason})")
    return TurnOutcome.say(text, usage=spent)


def _stream_handler(listener: OutputListener) -> EventStreamHandler[ToolContext]:
    """Return a handler that passes the streamed text to the listener."""

    async def read(_: RunContext[ToolContext], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    listener.add_output(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    listener.add_output(text)
                case _:
                    pass

    return read


def _capabilities(calls: ModelCallHooks) -> list[AbstractCapability[ToolContext]]:
    """Return the capabilities of a run: its hooks, and traces if the turn has them."""
    instrumentation = calls.services.instrumentation
    if not isinstance(instrumentation, InstrumentationSettings):
        return [calls]
    return [Instrumentation(instrumentation), calls]


@cache
def _model_agent() -> ModelAgent[ToolContext, str]:
    """Return the only pydantic-ai agent of the process: each run gets its own settings."""
    return ModelAgent(deps_type=ToolContext, output_type=str, name="symposia")
