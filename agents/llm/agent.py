"""Agents that are language models, through pydantic-ai: all its providers, and OpenAI-compatible URLs."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_ai import Agent as ModelAgent
from pydantic_ai import UsageLimits
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.models import Model
from pydantic_ai.models.batch import Batch
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.settings import ModelSettings

from ...models.errors import AgentError, AgentFailed
from ...models.prompts.layout import format_note
from ...models.protocol.dialog import CUT_LINES, CutReason, message_digest
from ...models.text.thinking import is_empty
from ...models.text.words import count_of
from ...models.turns.message_lists import estimate_tokens
from ...models.turns.turn import REVIEW_PARAMETER, TurnContext, TurnOutcome, Usage
from ..agent import TurnServices
from .approvals import AnswerNeeded, without_tool_answers
from .attachments import files_for_model, name_attachments
from .batches import BatchHandle, BatchModel
from .caching import cache_key_settings, cache_life, cache_settings
from .call_names import fingerprint
from .calls import ModelCallHooks
from .clients import RefusingModel, pool_of_running_loop
from .context import ShownDialog, build_history, plain_history, system_text
from .cuts import (
    NO_CUT,
    DialogCut,
    DialogLimits,
    SplitDialog,
    first_blocks,
    minutes_request,
    newest_instruction,
    newest_of_person,
    pin,
    render_blocks,
    shorten,
    split_dialog,
)
from .errors import is_transient, model_failure
from .parsing import Answered, AnswerReader, AskAgain, ThoughtOnly, join_continuation, own_text
from .provider_batches import ProviderBatches, batches_of_running_loop
from .settings import DecisionForm, LLMSettings, ModelSource, PricedModel, ReviewForm, require_prices
from .streamed_text import stream_handler
from .tools import Toolbox, ToolContext, Toolset, provider_tools, review_toolsets
from .windows import MAX_DIALOG_TOKENS

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Maximum corrections of the calls of one tool in a row; a further one is a failure of the tool.
MAX_TOOL_RETRIES = 3

#: The rest of a cut review is unknown; the same request would be cut again.
_CUT = "the review was cut at the token limit of the answer (finish reason: length): raise max_tokens of the model"

#: Fields of the context that are no part of the request key: they may differ between two attempts of a turn.
_CUT_REASONS = {"length": CutReason.LENGTH, "content_filter": CutReason.FILTER}
_VOLATILE_FIELDS = {
    "messages",
    "opening",
    "position",
    "descriptions",
    "memory",
    "recalled",
    "attempt",
    "remaining",
    "timeout_s",
    "approvers",
    "observers",
}


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
        chain = [PricedModel(model, source.price, source.entry, source.listed) for model, source in available]
        is_batched = llm_settings.batch and turn_services.replayed_tools is None
        if is_batched:
            chain = [self._batched(model, source, turn, turn_services) for model, source in available]
        streams = llm_settings.stream and not is_batched
        return ModelCallHooks(
            chain=chain,
            services=turn_services if streams else replace(turn_services, listener=None),
            request_key=fingerprint(sources[0].name, str(llm_settings), asked),
            max_tries=llm_settings.retries + 1,
            deadline=time.monotonic() + turn.timeout_s,
            spent=Usage.model_validate_json(spent) if spent else Usage(),
            secrets=self._secrets(sources),
            max_cost_micros=turn.remaining.cost_micros if REVIEW_PARAMETER in turn.parameters else None,
            form=llm_settings.review_form(turn),
        )

    @staticmethod
    def _batched(
        model: Model, source: ModelSource, turn: TurnContext, turn_services: TurnServices
    ) -> PricedModel:
        """Return the model with its batch API and prices. Raises AgentFailed: it has no batch API."""
        price = source.price or source.listed
        batched = BatchModel(model, source.entry, turn.me.participant_id, turn_services)
        return PricedModel(batched, price and price.scaled(source.batch_price_share), source.entry)

    async def has_batch_ended(self, handle: str) -> bool:
        """Return whether a provider's batch has ended.

        Args:
            handle: What a question of this agent named as its batch.

        Raises:
            AgentError: The provider does not answer, or does not know the batch; `retryable` says which.
        """
        return (await self._of_batch(handle, ProviderBatches.status)).status == "ended"

    async def cancel_batch(self, handle: str) -> None:
        """Cancel a provider's batch; an error of the provider is logged.

        Raises:
            AgentError: The model is not available, or cannot cancel this batch.
        """
        await self._of_batch(handle, ProviderBatches.cancel)

    async def _of_batch(
        self, handle: str, method: Callable[[ProviderBatches, Model, Batch], Awaitable[T]]
    ) -> T:
        """Call a method with the model and the batch of a handle. Raises AgentError."""
        sources: Sequence[ModelSource] = ()
        try:
            parsed, sources = BatchHandle.model_validate_json(handle), self._sources()
            source = next((source for source in sources if source.entry == parsed.entry), None)
            if source is None:
                raise AgentFailed(f"model {parsed.entry!r} is not a model of the agent now", retryable=False)
            model = await pool_of_running_loop().model(source.model)
            return await method(batches_of_running_loop(), model, parsed.batch)
        except AgentError:
            raise
        except Exception as error:
            raise model_failure(error, secrets=self._secrets(sources)) from error

    async def _show_dialog(self, turn: TurnContext, calls: ModelCallHooks) -> ShownDialog:
        """Return the dialog for the model; messages that no longer fit are left out, with minutes of them.

        Raises:
            AgentFailed: The reviewed text does not fit.
        """
        settings, notes = self._settings, calls.services.notes
        note = await notes.read_note() if turn.messages else None
        cut = DialogCut.from_note(note) if note else NO_CUT
        most = min(settings.dialog_tokens(turn), cut.tokens or MAX_DIALOG_TOKENS)
        opening = sum(estimate_tokens(message.content) for message in turn.opening)
        if REVIEW_PARAMETER in turn.parameters and opening > most:
            rule = f"the reviewed text needs {opening:,} tokens, and the model or the budget allows {most:,}"
            raise AgentFailed(rule, retryable=False)
        limits = DialogLimits(max(most - opening, most // 4, 1), settings.max_messages)
        blocks = render_blocks(turn, limits.tokens, with_tools=self._toolbox is not None)
        parts = split_dialog(blocks, cut, limits)
        if parts.to_leave_out:
            # The reservation of a turn with a token limit does not cover minutes.
            writes = settings.summary and turn.remaining.tokens is None
            text = await self._write_minutes(turn, calls, cut, parts, limits.tokens) if writes else cut.text
            person = newest_of_person(parts.to_leave_out, turn)
            asked = newest_instruction(parts.to_leave_out, turn)
            cut = cut.moved(
                parts.to_leave_out,
                text,
                person=pin(person, turn, limits.tokens),
                asked="" if asked is person else pin(asked, turn, limits.tokens),
            )
            await notes.write_note(cut.to_note())
        return ShownDialog(cut, parts.to_show, turn.opening)

    async def _write_minutes(
        self, turn: TurnContext, calls: ModelCallHooks, cut: DialogCut, parts: SplitDialog, max_tokens: int
    ) -> str:
        """Return the minutes of messages to leave out; empty if the model writes none.

        The request begins like the others of the participant, so a provider has most of it in its cache. It is sent
        once, and its usage counts for the turn.
        """
        asked = fingerprint(calls.request_key, message_digest(parts.to_leave_out[-1].message))
        aside = replace(
            calls,
            services=replace(calls.services, listener=None),
            request_key=asked,
            reader=None,
            form=None,
        )
        shown = first_blocks([*parts.to_leave_out, *parts.to_show], max_tokens) or parts.to_leave_out[-1:]
        request = minutes_request(parts.to_leave_out, max_tokens, has_minutes=bool(cut.text))
        try:
            answer = await self._run(
                turn, turn, aside, ShownDialog(cut, shown, turn.opening), request=request
            )
        except (ModelRequestRejectedError, UnexpectedModelBehavior, UsageLimitExceeded) as error:
            log.warning("session %s: %s wrote no minutes: %s", turn.session_id, turn.me.participant_id, error)
            return cut.text
        finally:
            calls.spent = aside.spent
        return shorten(answer.output, max_tokens // 4) if isinstance(answer.output, str) else cut.text

    async def _ask_model(self, whole_turn: TurnContext, calls: ModelCallHooks) -> TurnOutcome:
        turn = await name_attachments(without_tool_answers(whole_turn))
        dialog = await self._show_dialog(turn, calls)
        try:
            outcome = await self._read_answers(whole_turn, turn, calls, dialog)
        except ModelContextWindowExceededError:
            if not await self._halve_window(turn, calls, dialog):
                raise
            calls.begin_shorter_run()
            dialog = await self._show_dialog(turn, calls)
            outcome = await self._read_answers(whole_turn, turn, calls, dialog)
        more = {"usage": calls.spent, "left_out": dialog.left_out, "tool_uses": calls.tool_uses}
        return outcome.model_copy(update=more)

    async def _read_answers(
        self, whole_turn: TurnContext, turn: TurnContext, calls: ModelCallHooks, dialog: ShownDialog
    ) -> TurnOutcome:
        """Return the answer of the model. A paid review of a wrong form is not lost if no second answer follows."""
        reader = calls.reader = AnswerReader(
            turn,
            continues=self._settings.on_length == "continue" and not self._settings.plain,
            asks_again=self._settings.output_retries > 0,
        )
        try:
            return await self._ask_until_read(whole_turn, turn, calls, dialog, reader)
        except (AgentFailed, ModelAPIError, UnexpectedModelBehavior) as error:
            is_outage = isinstance(error, ModelAPIError) and is_transient(error)
            if not reader.first_review or is_outage or (isinstance(error, AgentFailed) and error.retryable):
                raise
            log.warning("session %s: no second answer to a review: %s", turn.session_id, error)
            return TurnOutcome.say(reader.first_review).model_copy(update={"asked_again": True})

    async def _ask_until_read(
        self,
        whole_turn: TurnContext,
        turn: TurnContext,
        calls: ModelCallHooks,
        dialog: ShownDialog,
        reader: AnswerReader,
    ) -> TurnOutcome:
        """Ask the model, and again for an answer that deviates: at most once, and once more for a cut."""
        model_settings, again = self._settings.model_settings(turn), None
        while True:
            try:
                answer = await self._run(
                    whole_turn, turn, calls, dialog, again=again, model_settings=model_settings
                )
            except AskAgain as asked:
                again = asked
            except ThoughtOnly as error:
                limit = self._more_tokens(turn, error, model_settings)
                model_settings = ModelSettings(**{**model_settings, "max_tokens": limit})
                calls.request_key = fingerprint(calls.request_key, limit)
            except Answered as answered:
                return answered.outcome.model_copy(update={"asked_again": bool(reader.notes)})
            except UnexpectedModelBehavior as error:
                return reader.give_up(error)
            else:
                return self._accept(answer, turn, calls.spent, reader)

    def _accept(
        self, answer: AgentRunResult[Any], turn: TurnContext, spent: Usage, reader: AnswerReader
    ) -> TurnOutcome:
        """Return the outcome of an answer, marked if it is cut.

        Raises:
            AgentFailed: It is cut, and may not be.
        """
        cut = _CUT_REASONS.get(answer.response.finish_reason or "")
        if REVIEW_PARAMETER in turn.parameters and cut is CutReason.LENGTH:
            raise AgentFailed(_CUT, retryable=False)
        outcome = _outcome(answer, turn, spent, reader)
        fails = {CutReason.LENGTH: self._settings.on_length, CutReason.FILTER: self._settings.on_filter}
        if cut is not None and fails[cut] == "fail":
            raise AgentFailed(f"the answer was {CUT_LINES[cut]}", retryable=False)
        return outcome.model_copy(update={"cut": cut, "asked_again": bool(reader.notes)})

    async def _halve_window(self, turn: TurnContext, calls: ModelCallHooks, dialog: ShownDialog) -> bool:
        """Halve the dialog of this participant from now on, and return whether anything is left to leave out."""
        shown = sum(block.tokens for block in dialog.blocks)
        if len(dialog.blocks) < 2 or REVIEW_PARAMETER in turn.parameters:
            return False
        most = min(self._settings.dialog_tokens(turn), dialog.cut.tokens or MAX_DIALOG_TOKENS, shown)
        cut = dialog.cut.model_copy(update={"tokens": max(most // 2, 1)})
        log.warning(
            "session %s: the request of %s is too long for the model: its dialog has %d tokens at most from now on",
            turn.session_id,
            turn.me.participant_id,
            cut.tokens,
        )
        await calls.services.notes.write_note(cut.to_note())
        return True

    async def _run(
        self,
        whole_turn: TurnContext,
        turn: TurnContext,
        calls: ModelCallHooks,
        dialog: ShownDialog,
        *,
        request: str | None = None,
        again: AskAgain | None = None,
        model_settings: ModelSettings | None = None,
    ) -> AgentRunResult[Any]:
        """Ask the model.

        Args:
            whole_turn: The turn for tools.
            turn: The turn for the prompt.
            calls: Hooks of the run.
            dialog: The messages to show.
            request: What is requested instead of the turn's answer, as text.
            again: The answer that deviates, which is sent back with a note; None: it is the first request.
            model_settings: Settings of the request; None: those of the turn.
        """
        settings, life = self._settings, None
        models = [source.model for source in calls.chain]
        files = await files_for_model(dialog.messages, settings.attachments)
        prompt = settings.prompt(turn.model_copy(update={"messages": tuple(dialog.messages)}))
        if isinstance(prompt, str):
            system, history = prompt, plain_history(turn, dialog, files=files)
        else:
            system, life = system_text(prompt), cache_life(turn) if settings.marks_cache else None
            if request is not None:
                prompt = replace(prompt, turn=request)
            history = build_history(prompt, dialog, files=files, life=life)
        calls.cache_life = life
        of_cache = {} if life is None else {**cache_settings(life), **cache_key_settings(models, system)}
        # Minutes are text; the forms stay, because other tools would change the beginning of the request.
        forms = settings.output_type(turn)
        noted = calls.reader.notes if calls.reader else 0
        if request is not None and forms is not str:
            forms = [str, forms]
        result: AgentRunResult[Any] = await _model_agent().run(
            history.prompt if again is None else format_note(again.note),
            model=models[0],
            deps=ToolContext(whole_turn),
            output_type=forms,
            instructions=system,
            message_history=history.earlier if again is None else again.messages,
            model_settings=cast(
                ModelSettings, {**of_cache, **(model_settings or settings.model_settings(turn))}
            ),
            toolsets=self._toolsets(turn, calls),
            usage_limits=UsageLimits(request_limit=settings.max_requests),
            retries={"output": max(settings.output_retries - noted, 0), "tools": MAX_TOOL_RETRIES},
            capabilities=[*_capabilities(calls), *provider_tools(settings.provider_tools)],
            event_stream_handler=stream_handler(calls.services.listener) if calls.services.listener else None,
        )
        return result

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
        log.info(
            "cut %s that %s wrote in the name of others", count_of(cut_lines, "line"), turn.me.participant_id
        )
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
