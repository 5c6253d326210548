"""`[agents.NAME] kind = "llm"`: a language model with its settings and tools.

    [agents.secretary]
    kind = "llm"
    model = "anthropic:claude-sonnet-4-5"
    fallback = ["house"]
    tools = ["rooms", "files"]

pydantic-ai is imported for the first agent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, JsonValue

from ...models.errors import AgentError, AgentFailed, MissingPackage
from ...models.extras import check_installed
from ...models.sessions.known_agents import ReaderModel
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.text.nearest import nearest_names
from ...models.turns.message_lists import estimate_tokens
from ..entry import UNKNOWN_SPENDING, FieldProblem, GuardedEntry, KindEnv
from ..execution.loading import load_form
from ..local_model.server import missing_part
from ..prices import PriceEntry
from ..tables import (
    LOCAL_MODEL,
    THIS_MACHINE,
    TOOL_NAME,
    CallablePath,
    FileTables,
    ModelEntry,
    Tokens,
    Window,
)
from .checks import WHAT, check_llm, check_settings, model_field

if TYPE_CHECKING:
    from .agent import LLMAgent
    from .settings import ModelSource
    from .tools import Toolbox


#: Pattern of settings of a single provider, which begin with its name; `checks` compares them with its package.
_OF_A_PROVIDER = re.compile(
    r"(anthropic|bedrock|cerebras|cohere|google|groq|mistral|openai|openrouter|xai)_\w+"
)


#: Settings that have their own fields, or that the turn sets, with what to use instead.
_NOT_A_SETTING = {
    "temperature": "the field temperature of the agent",
    "max_tokens": "the field max_tokens of the agent",
    "timeout": "request_timeout_s of the model",
    "request_timeout": "request_timeout_s of the model",
    "max_retries": "retries of the model",
    "tool_choice": "nothing: the turn sets it",
}


def _settings(settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not settings:
        return settings
    from pydantic_ai.settings import ModelSettings

    known_settings = ModelSettings.__annotations__.keys() - _NOT_A_SETTING.keys()
    for name in settings:
        if name in _NOT_A_SETTING:
            raise ValueError(f"must not have {name!r}; use {_NOT_A_SETTING[name]}")
        if name not in known_settings and not _OF_A_PROVIDER.fullmatch(name):
            near = nearest_names(name, known_settings)
            raise ValueError(f"has the unknown model setting {name!r} ({near})")
    return settings


ExtraSettings = Annotated[dict[str, JsonValue], AfterValidator(_settings)]


#: Tools that the provider of the model runs itself.
ProviderTool = Literal["web_search", "web_fetch", "code_execution", "x_search"]


#: Effort of thinking; false: none, or as little as the model allows.
Thinking = Literal["minimal", "low", "medium", "high", "xhigh", "max"] | bool


OnLength = Literal["continue", "keep", "fail"]
OnFilter = Literal["keep", "fail"]


class LLMEntry(GuardedEntry):
    """`[agents.NAME] kind = "llm"`."""

    kind: Literal["llm"]
    #: Name of a `[models.NAME]` table, or a `provider:model` that pydantic-ai knows.
    model: str = Field(min_length=1)
    #: Fallback models, in this order: names as in `model`.
    fallback: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=10)
    #: Instructions in the system prompt.
    instructions: str = ""
    temperature: float | None = Field(default=None, ge=0, le=2)
    #: Maximum tokens of one answer.
    max_tokens: Tokens | None = None
    #: Further settings, such as `top_p` or `openai_reasoning_effort`.
    settings: ExtraSettings = Field(default_factory=dict)
    #: Names of `[tools]` and `[mcp]` tables that the model may call.
    tools: tuple[str, ...] = Field(default=(), max_length=100)
    #: Tools that the provider runs itself, if it has them. These fields are left out if they are the default, so that
    #: the identity of an agent stays the same.
    provider_tools: tuple[ProviderTool, ...] = Field(default=(), exclude_if=lambda value: not value)
    #: Effort of thinking; None: the model's default.
    thinking: Thinking | None = Field(default=None, exclude_if=lambda value: value is None)
    #: Maximum requests for a corrected answer, if its form is wrong.
    output_retries: int = Field(default=2, ge=0, le=10, exclude_if=lambda value: value == 2)
    #: Maximum requests of one turn, against endless tool calls.
    max_requests: int = Field(default=20, ge=1, le=200)
    #: `module:Class` of the pydantic model of its messages, which are then JSON.
    output: CallablePath | None = None
    #: Override of the model's `context_tokens`.
    context_tokens: Tokens | None = None
    structured: bool | None = None
    #: What happens with an answer that reached the token limit: it is continued once and then marked, kept and marked, or
    #: the attempt fails. Left out if it is the default, so that the identity of an agent stays the same.
    on_length: OnLength = Field(default="continue", exclude_if=lambda value: value == "continue")
    #: What happens with an answer that a content filter cut off: it is kept and marked, or the attempt fails.
    on_filter: OnFilter = Field(default="keep", exclude_if=lambda value: value == "keep")
    #: Whether the model writes minutes of the messages that no longer fit.
    summary: bool = True
    #: Whether providers are asked to cache the beginning of each request.
    cache: bool = Field(default=True, exclude_if=lambda value: value)
    #: Maximum number of dialog messages in its context.
    window: Window = 400

    @property
    def models(self) -> tuple[str, ...]:
        """The model and its fallback models."""
        return (self.model, *self.fallback)

    def create(self, binding: AgentBinding, env: KindEnv) -> LLMAgent:
        """As in AgentKind; pydantic-ai may not be installed."""
        try:
            check_installed("pydantic_ai", WHAT)
        except MissingPackage as error:
            raise AgentFailed(str(error), retryable=False) from None
        from .agent import LLMAgent
        from .settings import LLMSettings
        from .windows import own_dialog_tokens

        model = env.tables.find_model(self.model)
        instructions = _either(binding.instructions, self.instructions)
        max_tokens = _either(binding.max_tokens, self.max_tokens)
        llm_settings = LLMSettings(
            instructions=instructions,
            temperature=_either(binding.temperature, self.temperature),
            max_tokens=max_tokens,
            settings=self.settings if self.thinking is None else {**self.settings, "thinking": self.thinking},
            provider_tools=self.provider_tools,
            output_retries=self.output_retries,
            context_tokens=_either(self.context_tokens, model.dialog_tokens),
            window_tokens=None
            if self.context_tokens or model.context_tokens
            else own_dialog_tokens(model, max_tokens=max_tokens, instructions=instructions),
            review_tokens=_either(self.context_tokens, model.review_tokens),
            structured=_either(self.structured, model.structured),
            review_schema=model.review_schema,
            window=self.window,
            summary=self.summary and not model.plain,
            cache=self.cache,
            plain=model.plain,
            stream=model.stream,
            output=load_form(self.output) if self.output else None,
            request_timeout_s=model.request_timeout_s,
            retries=model.retries,
            max_requests=self.max_requests,
            on_length=self.on_length,
            on_filter=self.on_filter,
            batch=binding.batch,
            attachments=tuple(env.tables.find_model(name).attachments for name in self.models),
        )
        return LLMAgent(lambda: _sources(self.models, env), llm_settings, toolbox=self._toolbox(env))

    def _toolbox(self, env: KindEnv) -> Toolbox | None:
        """Return the agent's tools. Each turn connects to its servers itself: a token may change."""
        if not self.tools:
            return None
        from .tools import Toolbox, session_tool

        tables = env.tables
        functions = {name: tables.tools[name] for name in self.tools if name in tables.tools}
        servers = {name: tables.mcp[name] for name in self.tools if name in tables.mcp}
        others = [name for name in self.tools if name not in functions and name not in servers]
        sessions = [session_tool(name, env.sessions[name]) for name in others if name in env.sessions]
        return Toolbox(functions, servers, env.read_variable, sessions)

    def describe(self) -> str:
        """As in AgentKind."""
        return self.model

    def check(self, env: KindEnv) -> Iterator[FieldProblem]:
        """As in AgentKind."""
        yield from check_llm(self.models, self.tools, self.output, env)
        yield from check_settings(self.settings)

    def broken_rules(self, tables: FileTables, sessions: Collection[str]) -> Iterator[tuple[str, str]]:
        """As in AgentKind: unknown models and tools."""
        models, tools = {*tables.models, LOCAL_MODEL}, {*tables.tools, *tables.mcp, *sessions}
        for at, model in enumerate(self.models):
            if model not in models and ":" not in model:
                rule = f"must be a [models] table ({nearest_names(model, models)}) or provider:model (got {model!r})"
                yield model_field(at), rule
        for at, tool in enumerate(self.tools):
            if tool in sessions and not TOOL_NAME.fullmatch(tool):
                rule = (
                    f"must be a session whose name is 1 to 40 letters, digits or underscores (got {tool!r})"
                )
                yield f"tools[{at}]", rule
            if tool not in tools:
                near = nearest_names(tool, tools) or "none exist"
                rule = f"must be a [tools] or [mcp] table, or an agent of kind session ({near}; got {tool!r})"
                yield f"tools[{at}]", rule

    def agents_inside(self, sessions: Collection[str]) -> Sequence[str]:
        """As in AgentKind."""
        return [name for name in self.tools if name in sessions]

    def spending(self, binding: AgentBinding, env: KindEnv) -> SpendingBounds:
        """As in AgentKind: one request with a full window.

        Retries of failed requests and of answers of the wrong form are not included; their usage is counted when the
        turn closes.
        """
        answer = binding.max_tokens or self.max_tokens
        if answer is None or self.tools or self.provider_tools:  # answers and tool calls without a limit
            return UNKNOWN_SPENDING
        models = [env.tables.find_model(name) for name in self.models]
        instructions = self.instructions if binding.instructions is None else binding.instructions
        asked = max(self.context_tokens or model.dialog_tokens for model in models)
        asked += PROMPT_TOKENS + estimate_tokens(instructions)
        costs = [_cost_micros(model, asked, answer, is_batched=binding.batch) for model in models]
        return SpendingBounds(
            tokens=asked + answer,
            cost_micros=None if None in costs else max(cost or 0 for cost in costs),
        )

    def reader(self, env: KindEnv) -> ReaderModel:
        """As in AgentKind: the window, the highest prices of its models, and an identity of the settings."""
        models = [env.tables.find_model(name) for name in self.models]
        first = models[0]
        prices = [FREE if model is THIS_MACHINE else model.find_price() for model in models]
        priced = [price for price in prices if price is not None]
        is_priced = len(priced) == len(prices)
        settings = [
            self.model_dump_json(),
            *(model.model_dump_json(exclude={"attachments"}) for model in models),
        ]
        return ReaderModel(
            model=first.model,
            identity=sha256("\n".join(settings).encode()).hexdigest()[:16],
            context_tokens=self.context_tokens or first.review_tokens or first.dialog_tokens,
            input_usd_per_million=max(price.input for price in priced) if is_priced else None,
            output_usd_per_million=max(price.output for price in priced) if is_priced else None,
            batch_price_share=max(model.batch_price_share for model in models),
        )

    def model_names(self) -> Sequence[str]:
        """As in AgentKind."""
        return self.models

    def rate_model(self) -> str:
        """As in AgentKind."""
        return self.model

    def uses_local_model(self, env: KindEnv) -> bool:
        """As in AgentKind; fallback models do not count."""
        return env.tables.find_model(self.model) is THIS_MACHINE

    def lacks_price(self, env: KindEnv) -> bool:
        """As in AgentKind."""
        return not self.uses_local_model(env) and any(
            env.tables.find_model(name).lacks_price() for name in self.models
        )


#: Price of the local model.
FREE = PriceEntry(input=0, output=0)

T = TypeVar("T")


def _either(first: T | None, second: T) -> T:
    return second if first is None else first


#: Tokens of the prompt of every request without the dialog and the agent's own instructions.
PROMPT_TOKENS = 500


def _cost_micros(model: ModelEntry, asked: int, answer: int, *, is_batched: bool) -> int | None:
    """Return the cost by the registry's prices; None: no price (the price list is used after the turn)."""
    price = model.own_price
    if price is None:
        return None
    dearest_input = max(price.input, price.cached or 0.0, price.cache_write or 0.0)
    cost = asked * dearest_input + answer * max(price.output, price.reasoning or 0.0)
    return round(cost * model.batch_price_share if is_batched else cost)


_NOT_RUNNING = (
    "the local model is installed but not running on this machine: start or restart `symposia up` without"
    " --no-local-model"
)


def _sources(models: Sequence[str], env: KindEnv) -> list[ModelSource]:
    """Return the models that are available now. Raises AgentError if none is."""
    sources, troubles = [], []
    for name in models:
        try:
            sources.append(model_source(name, env))
        except AgentError as trouble:
            troubles.append(trouble)
    if not sources:
        raise troubles[0]
    return sources


def model_source(name: str, env: KindEnv) -> ModelSource:
    """Return the endpoint of a model.

    Raises:
        AgentError: The local model does not run, or the variable of the key is not set.
    """
    from .clients import Endpoint
    from .settings import ModelSource, Price

    model = env.tables.find_model(name)
    if model is THIS_MACHINE:
        url = env.local_model()
        if url is None:
            if (missing := missing_part()) is not None:
                raise AgentFailed(missing, retryable=False)
            raise AgentFailed(_NOT_RUNNING)
        return ModelSource(Endpoint(model.model, f"{url}/v1"), entry=name)
    key = env.read_variable(model.api_key_env) if model.api_key_env else None
    if model.api_key_env and not key:
        raise AgentFailed(f"environment variable {model.api_key_env} is not set", retryable=False)
    own, listed = model.own_price, model.find_price()
    price = None if own is None else Price(**own.model_dump())
    endpoint = Endpoint(model.model, model.base_url, key)
    return ModelSource(
        endpoint,
        price,
        name,
        lacks_price=model.lacks_price(),
        batch_price_share=model.batch_price_share,
        listed=Price(**listed.model_dump()) if listed is not None and own is None else None,
    )
