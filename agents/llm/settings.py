"""Settings of a model call (registry entry merged with the session's binding), forms of its answers, and costs.

A decision is also written as a message, in the words of a model without structured output, so that the
dialog reads the same for every orchestrator. The models get the docstrings of the forms as descriptions.

The provider counts the tokens. The prices are those of the registry, or else of the price list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from pydantic import BaseModel, Field, JsonValue
from pydantic_ai import StructuredDict, ToolOutput
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from ...models.alignment.marks import Scores
from ...models.errors import AgentFailed
from ...models.prompts.layout import Prompt, build_prompt
from ...models.prompts.plain import plain_system_prompt
from ...models.sessions.known_agents import PRICE_ADVICE
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import (
    MAX_ANSWER,
    REVIEW_PARAMETER,
    Decision,
    DraftMessage,
    Expects,
    TurnContext,
    TurnOutcome,
    Usage,
)
from ..tables import DEFAULT_CONTEXT_TOKENS
from .clients import Endpoint
from .review_form import review_form

#: Smallest window in which the dialog is cut by its number of messages.
_LEAST_WINDOW = 8


class NextSpeaker(BaseModel):
    """A participant who speaks next."""

    name: str = Field(description="participant id")
    instruction: str = Field(default="", max_length=8_000, description="what this participant is to do")


class DecisionForm(BaseModel):
    """Decide who speaks next and what for, or answer the task."""

    reason: str = Field(
        default="",
        max_length=2_000,
        description="what is still missing, in one or two sentences, at most 500 characters",
    )
    satisfied: bool = Field(description="true: the task is answered, `answer` holds the answer")
    answer: str = Field(
        default="", max_length=MAX_ANSWER, description="needed if satisfied: the whole answer to the task"
    )
    progress: bool = Field(
        default=True, description="false: the turns since your last decision brought nothing new"
    )
    next: list[NextSpeaker] = Field(
        default=[], description="who speaks next, in order, and what each is to do"
    )
    side_by_side: bool = Field(
        default=False, description="true: all in `next` work at the same time and do not see each other"
    )

    def to_decision(self) -> Decision:
        """Return the decision."""
        return Decision(
            satisfied=self.satisfied,
            progress=self.progress,
            next=tuple(speaker.name for speaker in self.next),
            side_by_side=self.side_by_side,
            instructions={s.name: s.instruction for s in self.next if s.instruction},
            reason=self.reason,
            answer=self.answer if self.satisfied else "",
        )

    def to_outcome(self, usage: Usage) -> TurnOutcome:
        """Return the outcome: the decision, and a message with its text."""
        decision = self.to_decision()
        return TurnOutcome(messages=(DraftMessage(content=_words(decision)),), decision=decision, usage=usage)


class ExpertScores(Scores):
    """One expert's scores."""

    name: str = Field(description="participant id")


class JudgeForm(DecisionForm):
    """Who speaks next, and how far each expert has helped the panel to agree."""

    scores: list[ExpertScores] = Field(
        default=[], description="for each expert who has spoken, four scores; totals are computed"
    )

    def to_decision(self) -> Decision:
        """Return the decision with the scores."""
        scores = {entry.name[:1_000]: Scores(**entry.model_dump(exclude={"name"})) for entry in self.scores}
        return super().to_decision().model_copy(update={"scores": scores})


class ReviewForm(BaseModel):
    """Review the newest version of a partner's work."""

    must_fix: list[str] = Field(
        default=[],
        description="what must change: the place, what is wrong, what would be right; empty if approved",
    )
    comment: str = Field(default="", description="one or two sentences on the version as a whole")
    approved: bool = Field(description="true: nothing that matters is left")

    def to_outcome(self, usage: Usage) -> TurnOutcome:
        """Return the outcome: the verdict, and a message with its text."""
        faults = "\n".join(f"- {fault.strip()}" for fault in self.must_fix if fault.strip())
        text = "\n".join(filter(None, (self.comment.strip(), faults)))
        if self.approved:
            text = f"APPROVED: {text}".strip()
        decision = Decision(satisfied=self.approved, reason=text.removeprefix("APPROVED: ")[:2_000])
        return TurnOutcome(
            messages=(DraftMessage(content=text or _NO_COMMENT),), decision=decision, usage=usage
        )


_NO_COMMENT = "Not approved, without a comment."


def _words(decision: Decision) -> str:
    if decision.satisfied:
        return decision.answer or f"DONE: {decision.reason}".strip()
    lines = [] if decision.progress else [f"STALLED: {decision.reason}"]
    if decision.next:
        lines.append(f"{'TOGETHER' if decision.side_by_side else 'NEXT'}: {', '.join(decision.next)}")
    lines += [f"INSTRUCTION {name}: {text}" for name, text in decision.instructions.items()]
    return "\n".join(lines) or "NEXT: nobody"


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in US dollars per million tokens (micro-dollars per token)."""

    input: float = 0.0
    output: float = 0.0
    #: Price of cached input tokens; None: the price of other input tokens.
    cached: float | None = None
    #: Price of input tokens that are written to the cache; None: the price of other input tokens.
    cache_write: float | None = None
    #: Price of the thinking among the output tokens; None: the price of other output tokens.
    reasoning: float | None = None

    def scaled(self, share: float) -> Price:
        """Return this share of the prices."""
        given = {name: price for name, price in asdict(self).items() if price is not None}
        return replace(self, **{name: share * price for name, price in given.items()})

    def cost_micros(self, usage: Usage, *, written: int = 0, reasoning: int = 0) -> int:
        """Return the cost in millionths of a US dollar.

        Args:
            usage: The usage.
            written: Of the input tokens, those that were written to the cache.
            reasoning: Of the output tokens, those of thinking.
        """
        written = min(written, usage.input_tokens - usage.cached_tokens)
        reasoning = min(reasoning, usage.output_tokens)
        parts = (
            (usage.input_tokens - usage.cached_tokens - written, self.input),
            (usage.cached_tokens, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (usage.output_tokens - reasoning, self.output),
            (reasoning, self.output if self.reasoning is None else self.reasoning),
        )
        return round(sum(tokens * price for tokens, price in parts))


@dataclass(frozen=True, slots=True)
class PricedModel:
    """A client of a model, and the model's price in the registry, if any."""

    model: Model
    price: Price | None = None
    #: Name in the registry.
    entry: str = ""
    #: Price in the price list, if the registry has none.
    listed: Price | None = None


#: Names of the tokens of thinking among the details of a usage.
_REASONING = ("reasoning_tokens", "thoughts_tokens")


def usage_of(response: ModelResponse, price: Price | None) -> Usage:
    """Return the usage of one answer; the cost is 0 without a price in the registry or the price list."""
    reported = response.usage
    spent = Usage(
        input_tokens=reported.input_tokens,
        output_tokens=reported.output_tokens,
        cached_tokens=min(reported.cache_read_tokens, reported.input_tokens),
        requests=1,
    )
    if price is None:
        micros = int((reported.cost or Decimal(0)) * 1_000_000)
    else:
        reasoning = max(reported.details.get(name, 0) for name in _REASONING)
        micros = price.cost_micros(spent, written=reported.cache_write_tokens, reasoning=reasoning)
    return spent.model_copy(update={"cost_micros": micros})


#: Token limit of an answer that every model accepts; some reject a higher one.
SAFE_MAX_TOKENS = 4_000
#: Token limit of a reviewer's answer with a JSON schema, if the agent has none and `thinking` is not set:
#: 20 findings.
REVIEW_MAX_TOKENS = 8_000

_TOOL_NAMES = {Expects.DECISION: "decide", Expects.REVIEW: "review"}
_FORMS: dict[Expects, type[BaseModel]] = {Expects.DECISION: DecisionForm, Expects.REVIEW: ReviewForm}


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that may answer, and its price in the registry, if any."""

    #: Endpoint of the model; in tests, the model itself.
    model: Endpoint | Model
    price: Price | None = None
    #: Name in the registry.
    entry: str = ""
    #: Whether neither the registry nor the price list has a price.
    lacks_price: bool = False
    #: Price in the price list, if the registry has none.
    listed: Price | None = None
    #: What a request in a batch costs, as a share of the price.
    batch_price_share: float = 0.5

    @property
    def name(self) -> str:
        """Name that is equal for the same model at the same endpoint."""
        if isinstance(self.model, Endpoint):
            return f"{self.model.model} {self.model.base_url or ''}"
        return self.model.model_name

    @property
    def secret(self) -> str | None:
        """API key, which messages must not contain."""
        return self.model.api_key if isinstance(self.model, Endpoint) else None


def require_prices(sources: Sequence[ModelSource]) -> None:
    """Refuse models whose cost is unknown, in a session with a cost budget.

    Raises:
        AgentFailed: A model has no price; not retryable.
    """
    for source in sources:
        if source.lacks_price:
            line = f"the session has a cost budget, and model {source.entry!r} has no price: {PRICE_ADVICE}"
            raise AgentFailed(line, retryable=False)


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """Settings of a model call: registry entry merged with the session's binding."""

    instructions: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    #: Further settings by their names in pydantic-ai.
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    #: Maximum tokens of the dialog in a request.
    context_tokens: int = DEFAULT_CONTEXT_TOKENS
    #: The same by the model's own window, in a session without a budget; None: `context_tokens`. No part of the text by
    #: which finished calls are found.
    window_tokens: int | None = field(default=None, repr=False)
    #: The same for the dialog of a batch review; None: `context_tokens`.
    review_tokens: int | None = None
    #: Maximum number of messages that a turn gets; 0: no limit. No part of the text by which finished calls are found.
    window: int = field(default=0, repr=False)
    #: Whether the model writes minutes of the messages that no longer fit.
    summary: bool = False
    #: Whether providers are asked to cache requests. No part of the text by which finished calls are found.
    cache: bool = field(default=True, repr=False)
    #: Whether decisions and reviews are requested as structured output.
    structured: bool = True
    #: Whether answers of reviewers are requested with a JSON schema. No part of the text by which finished calls are found.
    review_schema: bool = field(default=False, repr=False)
    #: Whether the prompt is short, for a small model; then never structured.
    plain: bool = False
    #: Whether output is streamed when a listener is connected.
    stream: bool = True
    #: Form of the messages; None: text.
    output: type[BaseModel] | None = None
    request_timeout_s: float | None = None
    #: Maximum retries of a failed request.
    retries: int = 2
    #: Tools that the provider runs itself, and maximum corrections of an answer. No parts of the text by which
    #: finished calls are found.
    provider_tools: tuple[str, ...] = field(default=(), repr=False)
    output_retries: int = field(default=2, repr=False)
    #: Maximum requests of one turn; a model that calls tools makes several.
    max_requests: int = 20
    #: Media types of files that each model of the chain takes, such as `image/*`; empty: none.
    attachments: tuple[tuple[str, ...], ...] = ()
    #: What happens with an answer that reached the token limit (`continue`, `keep`, `fail`), or that a content filter cut
    #: off (`keep`, `fail`). No part of the text by which finished calls are found.
    on_length: str = field(default="continue", repr=False)
    on_filter: str = field(default="keep", repr=False)
    #: Whether requests go through the provider's batch API. No part of the text by which finished calls are found.
    batch: bool = field(default=False, repr=False)

    def form(self, turn: TurnContext) -> type[BaseModel] | type[dict[str, Any]] | None:
        """Return the form of the answer to a turn; None: text."""
        if turn.output_schema is not None:
            return output_form(turn.output_schema) if self.structured and not self.plain else None
        if turn.expects is Expects.MESSAGE:
            return self.output
        if not self.structured or self.plain:
            return None
        return JudgeForm if turn.scoring and turn.expects is Expects.DECISION else _FORMS[turn.expects]

    def review_form(self, turn: TurnContext) -> OutputObjectDefinition | None:
        """Return the JSON schema of a reviewer's answer; None: it is text without one."""
        if not self.review_schema or self.plain or self.output is not None:
            return None
        return review_form(turn)

    @property
    def marks_cache(self) -> bool:
        """Whether points are marked: not if the registry has its own settings for a provider's cache."""
        return self.cache and not any("cache" in name for name in self.settings)

    def output_type(self, turn: TurnContext) -> Any:
        """Return the answer of a turn for pydantic-ai: text, or a tool with the form."""
        form = self.form(turn)
        if form is None:
            return str
        name = "result" if turn.output_schema is not None else _TOOL_NAMES.get(turn.expects, "result")
        return ToolOutput(form, name=name)

    def prompt(self, turn: TurnContext) -> Prompt | str:
        """Return the parts of a request; for a small model, its system prompt."""
        if self.plain:
            return plain_system_prompt(turn, self.instructions)
        return build_prompt(turn, self.instructions, structured=self.form(turn) is not None)

    def answer_tokens(self, turn: TurnContext) -> int | None:
        """Return the maximum tokens of the answer, at most the reservation of the turn; None: no limit."""
        left = turn.remaining.tokens
        if left is None or (self.max_tokens is None and left > SAFE_MAX_TOKENS):
            return self.max_tokens
        return max(1, left if self.max_tokens is None else min(self.max_tokens, left))

    def dialog_tokens(self, turn: TurnContext) -> int:
        """Return the maximum tokens of the dialog; the turn's reservation must cover the answer, too."""
        left, answer = turn.remaining.tokens, self.answer_tokens(turn)
        is_review = REVIEW_PARAMETER in turn.parameters
        most = (is_review and self.review_tokens) or self.context_tokens
        if self.window_tokens and not is_review and left is None and turn.remaining.cost_micros is None:
            return self.window_tokens
        if left is None or answer is None:
            return most
        return max(1, min(most, left - answer if self.max_tokens else left // 2))

    @property
    def max_messages(self) -> int:
        """Number of messages at which the dialog is cut; 0: no limit.

        The cut comes before the window is full, because the oldest messages are then no longer known. A small window
        moves with each message: half of it would be too little.
        """
        return 0 if self.window < _LEAST_WINDOW else self.window - self.window // 8

    def model_settings(self, turn: TurnContext) -> ModelSettings:
        """Return the settings of every request of a turn."""
        timeout_s = min(self.request_timeout_s or turn.timeout_s, turn.timeout_s)
        # The provider's client does not retry: `ModelCallHooks` does, for transient errors only.
        own = ModelSettings(timeout=timeout_s, max_retries=0)
        # Some models take no temperature while they think, and a token limit counts the thoughts, too.
        has_defaults = self.review_form(turn) is not None and "thinking" not in self.settings
        if self.temperature is not None or has_defaults:
            own["temperature"] = self.temperature or 0.0
        answer = self.answer_tokens(turn)
        if answer is None and has_defaults:
            answer = min(REVIEW_MAX_TOKENS, turn.remaining.tokens or REVIEW_MAX_TOKENS)
        if answer is not None:
            own["max_tokens"] = answer
        return cast(ModelSettings, {**self.settings, **own})


def output_form(schema: dict[str, Any]) -> type[dict[str, Any]] | None:
    """Return the form of a schema; None: models cannot fill it in, and answer with JSON text instead.

    A form must be an object, and its definitions must not refer to themselves.
    """
    return _form(dump_json(schema))


@lru_cache(maxsize=64)
def _form(schema: str) -> type[dict[str, Any]] | None:
    try:
        return StructuredDict(parse_json(schema), name="Result")
    except UserError:
        return None
