"""Agents that are language models, through pydantic-ai: all its providers, and OpenAI-compatible URLs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent as ModelAgent
from pydantic_ai import UsageLimits
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    UserContent,
)
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.settings import ModelSettings

from ...models.errors import AgentError, AgentFailed
from ...models.protocol.dialog import CUT_LINES, CutReason, Message, message_digest
from ...models.text.thinking import is_empty
from ...models.turns.turn import REVIEW_PARAMETER, TurnContext, TurnOutcome, Usage
from ..agent import TurnServices
from .approvals import AnswerNeeded, without_tool_answers
from .attachments import files_for_model, name_attachments
from .calls import ModelCallHooks, fingerprint
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
from .parsing import Answered, AnswerReader, AskAgain, ThoughtOnly, format_note, join_continuation, own_text
from .settings import DecisionForm, LLMSettings, ModelSource, PricedModel, ReviewForm
from .streamed_text import stream_handler
from .tools import Toolbox, ToolContext, Toolset, review_toolsets

log = logging.getLogger(__name__)

#: Maximum retries of an answer of the wrong form; each describes the error to the model.
MAX_OUTPUT_RETRIES = 2

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
            has_cost_budget=turn.remaining.cost_micros is not None,
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
        reader = calls.reader = AnswerReader(turn, continues=self._settings.on_length == "continue")
        prompt: str | Sequence[UserContent] = [shown.prompt, *files] if files else shown.prompt
        earlier, model_settings = shown.earlier, self._settings.model_settings(turn)
        answer: AgentRunResult[Any] | None = None
        while answer is None:
            try:
                answer = await self._run(whole_turn, turn, calls, prompt, earlier, model_settings)
            except AskAgain as again:  # at most once, and once more for a cut
                prompt, earlier = format_note(again.note), again.messages
            except ThoughtOnly as error:
                limit = self._more_tokens(turn, error, model_settings)
                model_settings = ModelSettings(**{**model_settings, "max_tokens": limit})
                calls.request_key = fingerprint(calls.request_key, limit)
            except Answered as answered:
                outcome = answered.outcome.model_copy(update={"usage": calls.spent})
                return outcome.model_copy(
                    update={"left_out": shown.left_out, "asked_again": bool(reader.notes)}
                )
            except UnexpectedModelBehavior as error:
                outcome = reader.give_up(error)
                return outcome.model_copy(update={"usage": calls.spent, "left_out": shown.left_out})
        if REVIEW_PARAMETER in turn.parameters and answer.response.finish_reason == "length":
            raise AgentFailed(_CUT, retryable=False)
        outcome = _outcome(answer, turn, calls.spent, reader)
        cut = _CUT_REASONS.get(answer.response.finish_reason or "")
        if (cut is CutReason.LENGTH and self._settings.on_length == "fail") or (
            cut is CutReason.FILTER and self._settings.on_filter == "fail"
        ):
            raise AgentFailed(f"the answer was {CUT_LINES[cut]}", retryable=False)
        return outcome.model_copy(
            update={"left_out": shown.left_out, "cut": cut, "asked_again": bool(reader.notes)}
        )

    async def _run(
        self,
        whole_turn: TurnContext,
        turn: TurnContext,
        calls: ModelCallHooks,
        prompt: str | Sequence[UserContent],
        earlier: Sequence[ModelMessage],
        model_settings: ModelSettings,
    ) -> AgentRunResult[Any]:
        return await _model_agent().run(
            prompt,
            model=calls.chain[0].model,
            deps=ToolContext(whole_turn),
            output_type=self._settings.form(turn) or str,
            instructions=self._settings.system_prompt(turn),
            message_history=earlier,
            model_settings=model_settings,
            toolsets=self._toolsets(turn, calls),
            usage_limits=UsageLimits(request_limit=self._settings.max_requests),
            retries={"output": MAX_OUTPUT_RETRIES},
            capabilities=_capabilities(calls),
            event_stream_handler=stream_handler(calls.services.listener) if calls.services.listener else None,
        )

    def _more_tokens(self, turn: TurnContext, error: ThoughtOnly, used: ModelSettings) -> int:
        """Return twice the token limit of an answer that had nothing but thoughts, within the turn's budget.

        Raises:
            AgentFailed: The limit was raised before, or the budget has no room.
        """
        before = self._settings.model_settings(turn).get("max_tokens")
        limit = 2 * (before or error.tokens)
        if turn.remaining.tokens is not None:
            limit = min(limit, turn.remaining.tokens)
        if used.get("max_tokens") != before or limit <= (before or error.tokens):
            raise AgentFailed(str(error), retryable=False)
        return limit

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


def _outcome(
    answer: AgentRunResult[Any], turn: TurnContext, spent: Usage, reader: AnswerReader
) -> TurnOutcome:
    match answer.output:
        case DecisionForm() | ReviewForm() as form:
            return form.to_outcome(spent)
        case BaseModel() as form:
            outcome = TurnOutcome.say(form.model_dump_json(), usage=spent)
            return outcome.model_copy(update={"output": form.model_dump(mode="json")})
        case dict() as data:
            return TurnOutcome(output=data, usage=spent)
        case output:
            text, cut_lines = own_text(join_continuation("".join(reader.texts), str(output)), turn)
    if is_empty(text):
        reason = answer.response.finish_reason
        raise UnexpectedModelBehavior(f"the model returned an empty answer (finish reason: {reason})")
    if cut_lines:
        log.info("cut %d lines that %s wrote in the name of others", cut_lines, turn.me.participant_id)
    outcome = reader.finish_text(text, TurnOutcome.say(text, usage=spent))
    return outcome.model_copy(update={"cut_voices": cut_lines})


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
