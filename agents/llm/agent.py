"""Agents that are language models, through pydantic-ai: any provider it knows, any OpenAI-compatible URL."""

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
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import AgentStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from ...models.errors import AgentError
from ...models.protocol.dialog import Message
from ...models.turns.turn import TurnContext, TurnOutcome, Usage
from ..turn_services import Desk, Listener
from .calls import Calls, fingerprint
from .clients import pool_of_running_loop
from .context import Conversation, conversation
from .errors import model_failure
from .forms import DecisionForm, ReviewForm
from .prompts import without_own_name
from .settings import Manner, Source
from .summary import INSTRUCTIONS, Summary, carried_on, divide, mark, minutes, room_beside
from .tool_context import ToolDesk
from .tools import Toolbox
from .usage import Served

#: Maximum number of times an answer of the wrong form is sent back with the reason.
SENT_BACK = 2

#: What may differ between two attempts of a turn that ask the same.
_PASSING = {"messages", "memory", "attempt", "remaining", "timeout_s"}


class LLMAgent:
    """Speaks as a language model.

    Args:
        sources: the model and those to fall back on; asked for at every turn, because a key may be
            renewed and a local server may move. Raises AgentError when there is none.
        manner: how it is asked.
        toolbox: what it may call.
    """

    def __init__(
        self, sources: Callable[[], Sequence[Source]], manner: Manner, *, toolbox: Toolbox | None = None
    ) -> None:
        self._sources = sources
        self._manner = manner
        self._toolbox = toolbox

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Ask the model. Raises AgentFailed, retryable or not, without any secret in it."""
        return await self.speak_at(turn, Desk())

    async def speak_at(self, turn: TurnContext, desk: Desk) -> TurnOutcome:
        """The same, with a journal and a listener."""
        sources = self._sources()
        try:
            calls = await self._calls(turn, desk, sources)
            try:
                return await self._answered(turn, calls)
            except UnexpectedModelBehavior:
                await calls.forget_answers()
                raise
        except AgentError:
            raise
        except Exception as error:
            raise model_failure(error, secrets=self._secrets(sources)) from error

    async def _calls(self, turn: TurnContext, desk: Desk, sources: Sequence[Source]) -> Calls:
        manner, pool = self._manner, pool_of_running_loop()
        spent = desk.journal.recall(desk.account)
        asked = turn.model_dump_json(exclude=_PASSING)
        return Calls(
            chain=[Served(await pool.model(it.model), it.price, it.entry) for it in sources],
            desk=desk if manner.stream else replace(desk, listener=None),
            asked=fingerprint(sources[0].name, str(manner), asked),
            tries=manner.retries + 1,
            ends_at=time.monotonic() + turn.timeout_s,
            spent=Usage.model_validate_json(spent) if spent else Usage(),
        )

    async def _shown(self, turn: TurnContext, calls: Calls) -> Conversation:
        """Return the messages of the dialog for the model; what no longer fits is summarised or left out."""
        room, plain = self._manner.dialog_tokens(turn), self._manner.plain
        if not self._manner.summary:
            return conversation(turn, max_tokens=room, plain=plain)
        note = await calls.desk.notes.recall()
        summary = Summary.model_validate_json(note) if note else Summary()
        parts = divide(turn.messages, summary, max_tokens=room)
        # A turn with a limit on its tokens has none set aside for this.
        if parts.folded and turn.remaining.tokens is None:
            summary = await self._carried_on(turn, calls, summary, parts.folded)
            await calls.desk.notes.keep(summary.model_dump_json())
            parts = divide(turn.messages, summary, max_tokens=room)
        rest = turn.model_copy(update={"messages": (*parts.folded, *parts.kept)})
        shown = conversation(rest, max_tokens=room_beside(summary, room), summary=summary.text)
        return replace(shown, left_out=shown.left_out + summary.covered)

    async def _carried_on(
        self, turn: TurnContext, calls: Calls, summary: Summary, folded: Sequence[Message]
    ) -> Summary:
        """Return the summary with further messages in it; it is requested once, and its cost counts for the turn."""
        asked = fingerprint(calls.asked, mark(folded[-1]))
        aside = replace(calls, desk=replace(calls.desk, listener=None), asked=asked)
        answer = await _asker().run(
            minutes(turn, summary, folded),
            model=calls.chain[0].model,
            deps=ToolDesk(turn),
            instructions=INSTRUCTIONS,
            model_settings=self._manner.model_settings(turn),
            capabilities=[aside],
        )
        calls.spent = aside.spent
        return carried_on(summary, folded, answer.output)

    async def _answered(self, turn: TurnContext, calls: Calls) -> TurnOutcome:
        shown = await self._shown(turn, calls)
        answer = await _asker().run(
            shown.prompt,
            model=calls.chain[0].model,
            deps=ToolDesk(turn),
            output_type=self._manner.form(turn) or str,
            instructions=self._manner.system_prompt(turn),
            message_history=shown.earlier,
            model_settings=self._manner.model_settings(turn),
            toolsets=self._toolbox.toolsets() if self._toolbox else None,
            usage_limits=UsageLimits(request_limit=self._manner.max_requests),
            retries={"output": SENT_BACK},
            capabilities=[calls],
            event_stream_handler=_reader(calls.desk.listener) if calls.desk.listener else None,
        )
        outcome = _outcome(answer, turn, calls.spent)
        return outcome.model_copy(update={"left_out": shown.left_out})

    def _secrets(self, sources: Sequence[Source]) -> tuple[str, ...]:
        keys = [source.secret for source in sources if source.secret]
        return (*keys, *(self._toolbox.secrets() if self._toolbox else ()))


def _outcome(answer: AgentRunResult[Any], turn: TurnContext, spent: Usage) -> TurnOutcome:
    match answer.output:
        case DecisionForm() | ReviewForm() as form:
            return form.outcome(spent)
        case BaseModel() as form:
            return TurnOutcome.say(form.model_dump_json(), usage=spent)
        case output:
            text = without_own_name(str(output), turn.me)
    if not text:
        reason = answer.response.finish_reason
        raise UnexpectedModelBehavior(f"the model returned an empty answer (finish reason: {reason})")
    return TurnOutcome.say(text, usage=spent)


def _reader(listener: Listener) -> EventStreamHandler[ToolDesk]:
    """What hands the words of a stream on."""

    async def read(_: RunContext[ToolDesk], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    listener.hear(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    listener.hear(text)
                case _:
                    pass

    return read


@cache
def _asker() -> ModelAgent[ToolDesk, str]:
    """The one pydantic-ai agent: everything about it is said with each run."""
    return ModelAgent(deps_type=ToolDesk, output_type=str, name="symposia")
