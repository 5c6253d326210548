"""Agents that are language models, through pydantic-ai: any provider it knows, any OpenAI-compatible URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import itemgetter

from pydantic_ai import Agent as ModelAgent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage

from ..models.conversations import recent_messages
from ..models.dialog import Message
from ..models.errors import AgentError, AgentFailed
from ..models.turn import Expects, TurnContext, TurnOutcome, Usage
from .forms import DecisionForm, ReviewForm
from .llm_errors import model_failure
from .model_pool import Endpoint, pool_of_running_loop
from .prompts import (
    attributed,
    opening,
    plain_prompt,
    plain_system_prompt,
    system_prompt,
    turn_prompt,
    without_own_name,
)

_FORMS: dict[Expects, type[DecisionForm | ReviewForm]] = {
    Expects.DECISION: DecisionForm,
    Expects.REVIEW: ReviewForm,
}


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
    request_timeout_s: float | None = None
    http_retries: int = 2
    input_usd_per_million: float | None = None
    output_usd_per_million: float | None = None


class LLMAgent:
    """Speaks as a language model.

    Args:
        endpoint: the model; asked for at every turn, because a key may be renewed and a local
            server may move. Raises AgentError when there is none.
        manner: how it is asked.
    """

    def __init__(self, endpoint: Callable[[], Endpoint], manner: Manner) -> None:
        self._endpoint = endpoint
        self._manner = manner

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Ask the model. Raises AgentFailed, retryable or not, without any secret in it."""
        endpoint = self._endpoint()
        try:
            return await self._asked(turn, endpoint)
        except AgentError:
            raise
        except Exception as error:
            raise model_failure(error, secrets=(endpoint.api_key or "",)) from error

    async def _asked(self, turn: TurnContext, endpoint: Endpoint) -> TurnOutcome:
        manner = self._manner
        form = _FORMS.get(turn.expects) if manner.structured and not manner.plain else None
        earlier, prompt = self._conversation(turn)
        answer = await _asker().run(
            prompt,
            model=await pool_of_running_loop().model(endpoint),
            output_type=form or str,
            instructions=self._system_prompt(turn, structured=form is not None),
            message_history=earlier,
            model_settings=self._settings(turn),
        )
        usage = self._spent(answer.usage)
        if isinstance(answer.output, DecisionForm | ReviewForm):
            return answer.output.outcome(usage)
        text = without_own_name(str(answer.output), turn.me)
        if not text:
            raise AgentFailed(f"the model answered nothing (finish reason: {answer.response.finish_reason})")
        return TurnOutcome.say(text, usage=usage)

    def _system_prompt(self, turn: TurnContext, *, structured: bool) -> str:
        manner = self._manner
        if manner.plain:
            return plain_system_prompt(turn, manner.instructions)
        return system_prompt(turn, manner.instructions, structured=structured)

    def _conversation(self, turn: TurnContext) -> tuple[list[ModelMessage], str]:
        messages = fitting(turn.messages, self._manner.context_tokens)
        return ([], plain_prompt(turn, messages)) if self._manner.plain else conversation(turn, messages)

    def _settings(self, turn: TurnContext) -> ModelSettings:
        manner = self._manner
        timeout_s = min(manner.request_timeout_s or turn.timeout_s, turn.timeout_s)
        settings = ModelSettings(timeout=timeout_s, max_retries=manner.http_retries)
        if manner.temperature is not None:
            settings["temperature"] = manner.temperature
        if manner.max_tokens is not None:
            settings["max_tokens"] = manner.max_tokens
        return settings

    def _spent(self, usage: RunUsage) -> Usage:
        return Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            requests=usage.requests,
            cost_micros=self._cost_micros(usage),
        )

    def _cost_micros(self, usage: RunUsage) -> int:
        """Millionths of a US dollar: by the registry's price, else by the price list, else nothing."""
        price_in, price_out = self._manner.input_usd_per_million, self._manner.output_usd_per_million
        if price_in is not None or price_out is not None:
            # Dollars per million tokens are micro-dollars per token.
            return round(usage.input_tokens * (price_in or 0) + usage.output_tokens * (price_out or 0))
        return int((usage.cost or Decimal(0)) * 1_000_000)


def conversation(turn: TurnContext, messages: Sequence[Message]) -> tuple[list[ModelMessage], str]:
    """The dialog as the model's own history, and the prompt that ends it.

    User and assistant alternate strictly and the user begins: many chat templates refuse
    anything else.
    """
    me = turn.me.participant_id
    said = [
        (
            message.speaker == me,
            message.content if message.speaker == me else attributed(message, turn.roster),
        )
        for message in messages
    ]
    if said and said[0][0]:
        said.insert(0, (False, opening(turn)))
    said.append((False, turn_prompt(turn)))
    blocks = [
        (mine, "\n\n".join(text for _, text in block)) for mine, block in groupby(said, key=itemgetter(0))
    ]
    *earlier, (_, prompt) = blocks
    return [_message(mine, text) for mine, text in earlier], prompt


def _message(mine: bool, text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)]) if mine else ModelRequest(parts=[UserPromptPart(text)])


def fitting(messages: Sequence[Message], max_tokens: int) -> Sequence[Message]:
    """The newest messages that fit; of a newest message that is too long by itself, its end."""
    recent = recent_messages(messages, max_tokens)
    if recent or not messages:
        return recent
    newest = messages[-1]
    return [newest.changed(content=f"...{newest.content[-2 * max_tokens :]}")]


@cache
def _asker() -> ModelAgent[object, str]:
    """The one pydantic-ai agent: everything about it is said with each run."""
    return ModelAgent(output_type=str, name="symposia")
