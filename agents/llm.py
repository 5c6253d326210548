"""Agents that are language models, through pydantic-ai: any provider it knows, any OpenAI-compatible URL."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pydantic_ai import Agent as ModelAgent
from pydantic_ai import RunContext
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import AgentStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.settings import ModelSettings

from ..models.errors import AgentError
from ..models.turn import Expects, TurnContext, TurnOutcome, Usage
from .desk import Desk, Listener
from .forms import DecisionForm, ReviewForm
from .llm_calls import REQUESTS, SPENT, Calls, fingerprint
from .llm_context import Conversation, conversation
from .llm_errors import model_failure
from .llm_usage import Price, Served
from .model_pool import Endpoint, pool_of_running_loop
from .prompts import plain_system_prompt, system_prompt, without_own_name
from .tool_desk import ToolDesk

_FORMS: dict[Expects, type[DecisionForm | ReviewForm]] = {
    Expects.DECISION: DecisionForm,
    Expects.REVIEW: ReviewForm,
}

#: What may differ between two attempts of a turn that ask the same.
_PASSING = {"messages", "memory", "attempt", "remaining", "timeout_s"}


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked."""

    instructions: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    #: Tokens of the dialog that go along.
    context_tokens: int = 16_000
    #: Decisions and reviews as structured output.
    structured: bool = True
    #: In few words, for a small model; never structured.
    plain: bool = False
    #: Whether its words are asked for as it finds them, when somebody listens.
    stream: bool = True
    request_timeout_s: float | None = None
    #: How often a request that failed is sent again.
    retries: int = 2


@dataclass(frozen=True, slots=True)
class Source:
    """A model that may answer, and its price where the registry gives one."""

    endpoint: Endpoint
    price: Price | None = None


class LLMAgent:
    """Speaks as a language model.

    Args:
        sources: the model and those to fall back on; asked for at every turn, because a key may be
            renewed and a local server may move. Raises AgentError when there is none.
        manner: how it is asked.
    """

    def __init__(self, sources: Callable[[], Sequence[Source]], manner: Manner) -> None:
        self._sources = sources
        self._manner = manner

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Ask the model. Raises AgentFailed, retryable or not, without any secret in it."""
        return await self.speak_at(turn, Desk())

    async def speak_at(self, turn: TurnContext, desk: Desk) -> TurnOutcome:
        """The same, with a journal and a listener."""
        sources = self._sources()
        calls = await self._calls(turn, desk, sources)
        try:
            return await self._asked(turn, calls)
        except UnexpectedModelBehavior as error:
            # An answer that makes no sense is asked for again; what it cost is not forgotten with it.
            await desk.journal.keep(SPENT, calls.spent.model_dump_json())
            await desk.journal.forget(REQUESTS)
            raise _told(error, sources) from error
        except AgentError:
            raise
        except Exception as error:
            raise _told(error, sources) from error

    async def _calls(self, turn: TurnContext, desk: Desk, sources: Sequence[Source]) -> Calls:
        manner, first = self._manner, sources[0].endpoint
        pool = pool_of_running_loop()
        spent = desk.journal.recall(SPENT)
        try:
            chain = [Served(await pool.model(source.endpoint), source.price) for source in sources]
        except Exception as error:
            raise _told(error, sources) from error
        return Calls(
            chain=chain,
            desk=desk if manner.stream else replace(desk, listener=None),
            asked=fingerprint(
                first.model, first.base_url, str(manner), turn.model_dump_json(exclude=_PASSING)
            ),
            tries=manner.retries + 1,
            ends_at=time.monotonic() + turn.timeout_s,
            spent=Usage.model_validate_json(spent) if spent else Usage(),
        )

    async def _asked(self, turn: TurnContext, calls: Calls) -> TurnOutcome:
        manner = self._manner
        form = _FORMS.get(turn.expects) if manner.structured and not manner.plain else None
        shown = conversation(turn, max_tokens=manner.context_tokens, plain=manner.plain)
        answer = await self._run(turn, calls, shown, form)
        if isinstance(answer.output, DecisionForm | ReviewForm):
            outcome = answer.output.outcome(calls.spent)
        else:
            text = without_own_name(str(answer.output), turn.me)
            if not text:
                reason = answer.response.finish_reason
                raise UnexpectedModelBehavior(f"the model answered nothing (finish reason: {reason})")
            outcome = TurnOutcome.say(text, usage=calls.spent)
        return outcome.model_copy(update={"left_out": shown.left_out})

    async def _run(
        self,
        turn: TurnContext,
        calls: Calls,
        shown: Conversation,
        form: type[DecisionForm | ReviewForm] | None,
    ) -> AgentRunResult[str | DecisionForm | ReviewForm]:
        return await _asker().run(
            shown.prompt,
            model=calls.chain[0].model,
            deps=ToolDesk(turn),
            output_type=form or str,
            instructions=self._system_prompt(turn, structured=form is not None),
            message_history=shown.earlier,
            model_settings=self._settings(turn),
            capabilities=[calls],
            event_stream_handler=_reader(calls.desk.listener) if calls.desk.listener else None,
        )

    def _system_prompt(self, turn: TurnContext, *, structured: bool) -> str:
        manner = self._manner
        if manner.plain:
            return plain_system_prompt(turn, manner.instructions)
        return system_prompt(turn, manner.instructions, structured=structured)

    def _settings(self, turn: TurnContext) -> ModelSettings:
        manner = self._manner
        timeout_s = min(manner.request_timeout_s or turn.timeout_s, turn.timeout_s)
        # The provider's own client repeats nothing: `Calls` does, and knows what is worth it.
        settings = ModelSettings(timeout=timeout_s, max_retries=0)
        if manner.temperature is not None:
            settings["temperature"] = manner.temperature
        if manner.max_tokens is not None:
            settings["max_tokens"] = manner.max_tokens
        return settings


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


def _told(error: Exception, sources: Sequence[Source]) -> AgentError:
    if isinstance(error, AgentError):
        return error
    return model_failure(error, secrets=tuple(source.endpoint.api_key or "" for source in sources))


@cache
def _asker() -> ModelAgent[ToolDesk, str]:
    """The one pydantic-ai agent: everything about it is said with each run."""
    return ModelAgent(deps_type=ToolDesk, output_type=str, name="symposia")
