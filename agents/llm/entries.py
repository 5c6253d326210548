"""Tables of the agents file for model agents: models, tools, MCP servers, and the agents themselves.

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

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from ...models.attachments import check_media_type
from ...models.text.durations import Duration
from ..entry_base import CallablePath, EntryBase, HttpUrl, Tokens, VariableName, Window
from ..guards.entries import GuardedEntry

#: Pattern of tool names.
TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
#: Pattern of settings of a single provider, which begin with its name; their values are not checked here.
_OF_A_PROVIDER = re.compile(
    r"(anthropic|bedrock|cerebras|cohere|google|groq|mistral|openai|openrouter|xai)_\w+"
)
#: Maximum characters of the name of a person.
_MAX_NAME = 200
#: Settings that have their own fields, or that the turn sets.
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
    if not TOOL_NAME.fullmatch(name):
        raise ValueError("must be 1 to 40 letters, digits or underscores")
    return name


def _media_types(pattern: str) -> str:
    try:
        check_media_type(f"{pattern[:-1]}x" if pattern.endswith("/*") else pattern)
    except ValueError:
        raise ValueError("must be a media type such as application/pdf, or image/*") from None
    return pattern


MediaTypes = Annotated[str, AfterValidator(_media_types)]
ExtraSettings = Annotated[dict[str, JsonValue], AfterValidator(_settings)]
ToolName = Annotated[str, AfterValidator(_tool_name)]


def _approval(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and 0 < len(value) <= _MAX_NAME and value == value.strip():
        return value
    raise ValueError("must be true, false, or the name of a person, without spaces around it")


def _approved_tools(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    raise ValueError("must be true, false, or a list of names of tools")


Approval = Annotated[bool | str, BeforeValidator(_approval)]
ApprovedTools = Annotated[bool | tuple[str, ...], BeforeValidator(_approved_tools)]


class ModelEntry(EntryBase):
    """`[models.NAME]`: a language model and its endpoint."""

    #: `provider:name` as in pydantic-ai; with `base_url`, the model's name at the endpoint.
    model: str = Field(min_length=1)
    #: URL of an OpenAI-compatible endpoint.
    base_url: HttpUrl | None = None
    #: Name of the variable with the API key. None: the variable of the provider's own client, or no key.
    api_key_env: VariableName | None = None
    #: Maximum tokens of the dialog in a request; older messages are left out.
    context_tokens: Tokens = 16_000
    #: The same for the dialog of a batch review, which is usually one long message; None: `context_tokens`.
    review_tokens: Tokens | None = None
    #: Whether decisions and reviews are requested as structured output.
    structured: bool = True
    #: Whether the prompt is short and without answer forms, for a model too small to follow them.
    plain: bool = False
    #: Maximum seconds of one request, within the turn's deadline; None: until that deadline.
    request_timeout_s: Duration | None = Field(default=None, gt=0, le=86_400)
    #: Maximum retries of a request after a transient error, within the turn's deadline.
    retries: int = Field(default=2, ge=0, le=10)
    #: Whether the output is streamed to followers of the session.
    stream: bool = True
    #: Rate limits of the provider, for all workers together; None: no limit.
    requests_per_minute: int | None = Field(default=None, ge=1, le=10**6)
    tokens_per_minute: int | None = Field(default=None, ge=1, le=10**12)
    #: Media types of the files that the model takes, such as `image/*` or `application/pdf`.
    attachments: tuple[MediaTypes, ...] = Field(default=(), max_length=50)
    #: US dollars per million tokens, for a model that is not in the provider's price list.
    input_usd_per_million: float | None = Field(default=None, ge=0)
    output_usd_per_million: float | None = Field(default=None, ge=0)
    #: Price of cached input tokens; None: the price of other input tokens.
    cached_usd_per_million: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_reachable(self) -> ModelEntry:
        if self.base_url is None and ":" not in self.model:
            raise ValueError("must name a provider (`provider:model`) or have a base_url")
        return self


CutAnswers = Literal["keep", "fail"]


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
    #: Maximum requests of one turn, against endless tool calls.
    max_requests: int = Field(default=20, ge=1, le=200)
    #: `module:Class` of the pydantic model of its messages, which are then JSON.
    output: CallablePath | None = None
    #: Override of the model's `context_tokens`.
    context_tokens: Tokens | None = None
    structured: bool | None = None
    #: What happens with an answer that the token limit or a content filter cut off: it is kept and marked, or the
    #: attempt fails. Left out if it is the default, so that the identity of an agent stays the same.
    cut_answers: CutAnswers = Field(default="keep", exclude_if=lambda it: it == "keep")
    #: Whether messages that no longer fit `context_tokens` are kept in a rolling summary by the model.
    summary: bool = False
    #: Maximum number of dialog messages in its context.
    window: Window = 100


class ToolEntry(EntryBase):
    """`[tools.NAME]`: a Python function that models may call by this name."""

    #: `module:name`, sync or async; a first parameter `ctx: RunContext[ToolContext]` gets the turn.
    callable: CallablePath
    #: Description for the model; None: the docstring of the callable.
    description: str | None = None
    #: Maximum seconds of one call; None: until the turn's deadline.
    timeout_s: Duration | None = Field(default=None, gt=0, le=86_400)
    #: Whether each call needs the approval of the session's first approver, or the name of the person who decides.
    approval: Approval = False


class McpEntry(EntryBase):
    """`[mcp.NAME]`: a server of the Model Context Protocol; its tools are called `NAME_tool`."""

    #: URL of a running server (streamable HTTP).
    url: HttpUrl | None = None
    #: Name of the variable with the bearer token.
    token_env: VariableName | None = None
    #: Program and arguments of a server that is started for each turn (standard streams, no shell).
    command: tuple[str, ...] = Field(default=(), max_length=100)
    #: Names of the variables that it gets besides those that any program needs.
    env: tuple[VariableName, ...] = ()
    #: Names of the tools to use; None: all.
    tools: tuple[str, ...] | None = None
    #: Tools whose calls need the approval of the session's first approver; true: all of them.
    approval: ApprovedTools = False

    @model_validator(mode="after")
    def _approval_is_of_tools(self) -> McpEntry:
        for name in self.approval if isinstance(self.approval, tuple) else ():
            if self.tools is not None and name not in self.tools:
                raise ValueError(f"approval: must name tools of `tools` (got {name!r})")
        return self

    @model_validator(mode="after")
    def _is_one_server(self) -> McpEntry:
        if (self.url is None) == (not self.command):
            raise ValueError("must have exactly one of `url` and `command`")
        return self


class ModelTables(EntryBase):
    """Tables of an agents file that model agents refer to by name."""

    models: dict[str, ModelEntry] = Field(default_factory=dict)
    tools: dict[ToolName, ToolEntry] = Field(default_factory=dict)
    mcp: dict[ToolName, McpEntry] = Field(default_factory=dict)
