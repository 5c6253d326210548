"""The tables of model agents: models, the agents that speak with them, and what these may use.

[tools.rooms]
callable = "my_project.tools:book_room"

[mcp.files]
command = ["mcp-server-files", "/srv/files"]

[agents.secretary]
kind = "llm"
model = "anthropic:claude-sonnet-4-5"
fallback = ["house"]
tools = ["rooms", "files"]
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ..entry_base import CallablePath, EntryBase, HttpUrl, Tokens, VariableName, Window

#: Form of the names of tools.
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
#: Settings of one provider begin with its name; what they may be is the provider's business.
_OF_A_PROVIDER = re.compile(
    r"(anthropic|bedrock|cerebras|cohere|google|groq|mistral|openai|openrouter|xai)_\w+"
)
#: Set by fields of their own, or by the turn.
_NOT_A_SETTING = frozenset({"temperature", "max_tokens", "timeout", "request_timeout", "max_retries"})


def _settings(settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not settings:
        return settings
    from pydantic_ai.settings import ModelSettings

    known = ModelSettings.__annotations__.keys() - _NOT_A_SETTING
    for name in settings:
        if name not in known and not _OF_A_PROVIDER.fullmatch(name):
            raise ValueError(f"has the unknown model setting {name!r}; known: {', '.join(sorted(known))}")
    return settings


def _tool_name(name: str) -> str:
    if not _TOOL_NAME.fullmatch(name):
        raise ValueError("must be 1 to 40 letters, digits or underscores")
    return name


ExtraSettings = Annotated[dict[str, JsonValue], AfterValidator(_settings)]
ToolName = Annotated[str, AfterValidator(_tool_name)]


class ModelEntry(EntryBase):
    """`[models.NAME]`: a language model and where it is served."""

    #: `provider:name` as pydantic-ai knows it, or, with `base_url`, the name the endpoint knows it by.
    model: str = Field(min_length=1)
    #: An OpenAI-compatible endpoint.
    base_url: HttpUrl | None = None
    #: Variable that holds the API key. None: what the provider's own client looks for, or no key.
    api_key_env: VariableName | None = None
    #: Tokens of the dialog a request may carry; older messages are left out.
    context_tokens: Tokens = 16_000
    #: Whether decisions and reviews are asked for as structured output.
    structured: bool = True
    #: Asked in few plain words, without the forms for answers: for a model too small to follow them.
    plain: bool = False
    #: Seconds one request may take, within the turn's deadline; None: until that deadline.
    request_timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    #: How often a request that met a passing trouble is sent again, within the turn's deadline.
    retries: int = Field(default=2, ge=0, le=10)
    #: Whether its words are asked for as it finds them, so that followers can read along.
    stream: bool = True
    #: What its provider takes a minute, of all workers together; None: any number.
    requests_per_minute: int | None = Field(default=None, ge=1, le=10**6)
    tokens_per_minute: int | None = Field(default=None, ge=1, le=10**12)
    #: US dollars per million tokens, where the provider's price list does not know the model.
    input_usd_per_million: float | None = Field(default=None, ge=0)
    output_usd_per_million: float | None = Field(default=None, ge=0)
    #: Of input tokens that the provider had in its cache; None: as much as any other.
    cached_usd_per_million: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_reachable(self) -> ModelEntry:
        if self.base_url is None and ":" not in self.model:
            raise ValueError("must name a provider (`provider:model`) or have a base_url")
        return self


class LLMEntry(EntryBase):
    """`[agents.NAME] kind = "llm"`."""

    kind: Literal["llm"]
    #: Name of a `[models.NAME]` table, or a `provider:model` that pydantic-ai knows.
    model: str = Field(min_length=1)
    #: Models of the same kind that are asked in this order when it does not answer.
    fallback: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=10)
    #: Who it is and how it should answer.
    instructions: str = ""
    temperature: float | None = Field(default=None, ge=0, le=2)
    #: Tokens of one answer.
    max_tokens: Tokens | None = None
    #: Further settings, such as `top_p` or `openai_reasoning_effort`.
    settings: ExtraSettings = Field(default_factory=dict)
    #: Names of `[tools]` and `[mcp]` tables: what the model may call.
    tools: tuple[str, ...] = Field(default=(), max_length=100)
    #: Requests of one turn: a model that calls tools for ever is stopped.
    max_requests: int = Field(default=20, ge=1, le=200)
    #: `module:Class` of a pydantic model: the form of its messages, which are then JSON.
    output: CallablePath | None = None
    #: Instead of the model's own.
    context_tokens: Tokens | None = None
    structured: bool | None = None
    #: Whether messages that no longer fit `context_tokens` are kept in a rolling summary by the model.
    summary: bool = False
    #: Messages of the dialog it is shown, at most.
    window: Window = 100


class ToolEntry(EntryBase):
    """`[tools.NAME]`: a Python function that models may call by this name."""

    #: `module:name`, sync or async; a first parameter `ctx: RunContext[ToolContext]` gets the turn.
    callable: CallablePath
    #: Description for the model; None: the docstring of the callable.
    description: str | None = None
    #: Seconds one call may take; None: until the turn's deadline.
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)


class McpEntry(EntryBase):
    """`[mcp.NAME]`: a server of the Model Context Protocol; its tools are called `NAME_tool`."""

    #: A server that runs, spoken to by streamable HTTP.
    url: HttpUrl | None = None
    #: Variable that holds the bearer token for it.
    token_env: VariableName | None = None
    #: Program and arguments of a server that is started for a turn, spoken to by its standard streams; no shell.
    command: tuple[str, ...] = Field(default=(), max_length=100)
    #: Variables it gets besides the few that any program needs.
    env: tuple[VariableName, ...] = ()
    #: Only these of its tools; None: all.
    tools: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _is_one_server(self) -> McpEntry:
        if (self.url is None) == (not self.command):
            raise ValueError("must have exactly one of `url` and `command`")
        return self


class ModelTables(EntryBase):
    """The tables of an agents file that model agents refer to by name."""

    models: dict[str, ModelEntry] = Field(default_factory=dict)
    tools: dict[ToolName, ToolEntry] = Field(default_factory=dict)
    mcp: dict[ToolName, McpEntry] = Field(default_factory=dict)
