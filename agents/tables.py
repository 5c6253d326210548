"""Tables of an agents file that agents refer to: models, tools, MCP servers, webhooks; and their types of fields.

[models.house]                       # an endpoint that several agents share
model = "qwen3-8b"
base_url = "http://localhost:8000/v1"
api_key_env = "HOUSE_KEY"            # the variable's name, never the key

[tools.rooms]
callable = "my_project.tools:book_room"

[mcp.files]
command = ["mcp-server-files", "/srv/files"]

[webhooks]
hosts = ["hooks.example.com", "*.partner.example"]   # no other host is called
networks = ["10.20.0.0/16"]                          # private addresses that may be called
callback_url = "https://symposia.example.com/replies"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    StringConstraints,
    model_validator,
)

from ..models.attachments import check_media_type
from ..models.text.durations import Duration
from .local_model.server import CONTEXT_TOKENS, MODEL_NAME
from .prices import PriceEntry, find_listed_price, listed_price, price_line


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("must not contain credentials; set a variable name for them instead")
    return url


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("must be the name of an environment variable, not the key itself")
    return name


def _callable_path(path: str) -> str:
    sides = path.split(":")
    if len(sides) != 2 or not all(part.isidentifier() for side in sides for part in side.split(".")):
        raise ValueError("must be module:name, such as my_project.agents:lint")
    return path


def _module_name(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError("must be the name of a module, such as my_project.agents")
    return name


HttpUrl = Annotated[str, AfterValidator(_http_url)]


VariableName = Annotated[str, AfterValidator(_variable)]


CallablePath = Annotated[str, AfterValidator(_callable_path)]


ModuleName = Annotated[str, AfterValidator(_module_name)]


Tokens = Annotated[int, Field(ge=1, le=10_000_000)]


Window = Annotated[int, Field(ge=0, le=10_000)]


class EntryBase(BaseModel):
    """Base of the tables of an agents file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


#: Pattern of tool names.
TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


#: Maximum characters of the name of a person.
_MAX_NAME = 200


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


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError("must be the name of an HTTP header")
    return name


#: Pattern of HTTP header names (RFC 9110, token).
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


HeaderName = Annotated[str, AfterValidator(_header_name)]


Approval = Annotated[bool | str, BeforeValidator(_approval)]


ApprovedTools = Annotated[bool | tuple[str, ...], BeforeValidator(_approved_tools)]


#: Providers whose API may be at another URL: `provider:model` with a `base_url`.
PROVIDERS_WITH_URL = (
    *("anthropic", "google", "groq", "mistral", "ollama"),
    *("openai", "openai-chat", "openai-responses", "vllm"),
)


class ModelEntry(EntryBase):
    """`[models.NAME]`: a language model and its endpoint."""

    #: `provider:name` as in pydantic-ai; with `base_url` also the model's name at the endpoint alone.
    model: str = Field(min_length=1)
    #: URL of an endpoint with the API of the provider; without a provider, with OpenAI's chat API.
    base_url: HttpUrl | None = None
    #: Name of the variable with the API key. None: the variable of the provider's own client, or no key.
    api_key_env: VariableName | None = None
    #: Maximum tokens of the dialog in a request; older messages are left out. None: what the model's own window holds.
    context_tokens: Tokens | None = None
    #: The same for the dialog of a batch review, which is usually one long message; None: `context_tokens`.
    review_tokens: Tokens | None = None
    #: Whether decisions and reviews are requested as structured output.
    structured: bool = True
    #: Whether the answers of reviewers in batch reviews are requested with a JSON schema that the provider enforces.
    review_schema: bool = Field(default=False, exclude_if=lambda value: not value)
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
    #: Prices of a model that is not in the price list, or whose prices are others.
    price: PriceEntry | None = Field(default=None, exclude_if=lambda value: value is None)
    #: What a request in a batch of the provider costs, as a share of these prices. Left out if it is the default, so that
    #: the identity of an agent stays the same.
    batch_price_share: float = Field(default=0.5, ge=0, le=1, exclude_if=lambda share: share == 0.5)
    #: The same, as single fields.
    input_usd_per_million: float | None = Field(default=None, ge=0)
    output_usd_per_million: float | None = Field(default=None, ge=0)
    #: Price of cached input tokens; None: the price of other input tokens.
    cached_usd_per_million: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_reachable(self) -> ModelEntry:
        if self.base_url is None and ":" not in self.model:
            raise ValueError("must name a provider (`provider:model`) or have a base_url")
        return self

    @model_validator(mode="after")
    def _has_one_price(self) -> ModelEntry:
        if self.price is not None and self.own_price is not self.price:
            raise ValueError("must have `price` or `input_usd_per_million` and the like, not both")
        return self

    @property
    def own_price(self) -> PriceEntry | None:
        """The prices in the entry; None: there are none."""
        single = (self.input_usd_per_million, self.output_usd_per_million)
        if single == (None, None):
            return self.price
        return PriceEntry(input=single[0] or 0, output=single[1] or 0, cached=self.cached_usd_per_million)

    @property
    def dialog_tokens(self) -> int:
        """Maximum tokens of the dialog where the model's own window does not count."""
        return self.context_tokens or DEFAULT_CONTEXT_TOKENS

    def find_price(self) -> PriceEntry | None:
        """Return the prices of the entry, or of the price list; None: neither has them."""
        if (own := self.own_price) is not None:
            return own
        try:
            return find_listed_price(self._listed_name)
        except ImportError:
            return None

    def describe_price(self) -> str | None:
        """Return the prices in use in one line; None: neither the entry nor the price list has them."""
        own = self.own_price
        if own is None:
            return listed_price(self._listed_name)
        return price_line(own.model_dump(exclude_none=True))

    def lacks_price(self) -> bool:
        """Return whether neither the entry nor the price list has the price of the model."""
        return self.describe_price() is None

    @property
    def _listed_name(self) -> str:
        provider, _, name = self.model.partition(":")
        has_provider = self.base_url is None or provider in PROVIDERS_WITH_URL
        return name if name and has_provider else self.model


#: Tokens of the dialog for a model whose window is unknown, in a review, and in a session with a budget.
DEFAULT_CONTEXT_TOKENS = 16_000

#: What happens with the exception of a tool: the model gets it as the result, or the attempt of the turn fails.
OnError = Literal["model", "fail"]


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
    #: What happens with an exception of the function.
    on_error: OnError = "model"


class McpEntry(EntryBase):
    """`[mcp.NAME]`: a server of the Model Context Protocol; its tools are called `NAME_tool`."""

    #: URL of a running server.
    url: HttpUrl | None = None
    #: How the server at the URL is called: streamable HTTP, or the older server-sent events. None: these for a path
    #: that ends with /sse, else HTTP.
    transport: Literal["http", "sse"] | None = None
    #: Name of the variable with the bearer token.
    token_env: VariableName | None = None
    #: Names of the variables with the values of HTTP headers, by name of the header.
    headers_env: dict[HeaderName, VariableName] = Field(default_factory=dict, max_length=50)
    #: Program and arguments of a server that is started for each turn (standard streams, no shell).
    command: tuple[str, ...] = Field(default=(), max_length=100)
    #: Names of the variables that it gets besides those that any program needs.
    env: tuple[VariableName, ...] = ()
    #: Names of the tools to use; None: all.
    tools: tuple[str, ...] | None = None
    #: Tools whose calls need the approval of the session's first approver; true: all of them.
    approval: ApprovedTools = False
    #: What happens with an error of a tool or of the server during a call.
    on_error: OnError = "model"

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
        for name, value in self._fields_of_url() if self.command else ():
            if value:
                raise ValueError(f"{name}: needs `url`: a server that is started has no HTTP request")
        if self.url and self.env:
            raise ValueError("env: needs `command`: a running server gets no variables")
        if self.token_env and any(name.lower() == "authorization" for name in self.headers_env):
            raise ValueError("headers_env: must not have Authorization besides `token_env`")
        return self

    def _fields_of_url(self) -> Sequence[tuple[str, object]]:
        return [
            ("transport", self.transport),
            ("token_env", self.token_env),
            ("headers_env", self.headers_env),
        ]

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of all environment variables that it needs."""
        return (*filter(None, [self.token_env]), *self.headers_env.values(), *self.env)


Network = IPv4Network | IPv6Network


def _short_enough(host: str) -> str:
    if len(host.removeprefix("*.")) > 253:
        raise ValueError("must have at most 253 characters, without `*.`")
    return host


# The length is not checked by the pattern: it would take 40 ms to compile, in every process.
_Host = Annotated[
    str,
    StringConstraints(pattern=r"^(\*\.)?[a-zA-Z0-9.:-]+$", to_lower=True),
    AfterValidator(_short_enough),
]


class Webhooks(EntryBase):
    """`[webhooks]`: hosts and networks to which turns may be delivered."""

    #: Host names, or `*.` and the end of a host name. Empty: the hosts of the entries.
    hosts: tuple[_Host, ...] = Field(default=(), max_length=1_000)
    #: Private networks that may be called, also without TLS.
    networks: tuple[IPvAnyNetwork, ...] = Field(default=(), max_length=100)
    #: Public URL of `symposia callbacks`; sent to the remote systems.
    callback_url: HttpUrl | None = None

    def allows(self, host: str) -> bool:
        """Return whether this host may be called."""
        host = host.lower()
        return not self.hosts or any(
            host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern
            for pattern in self.hosts
        )


#: Name of the model that runs on this machine; a [models.local] table replaces it.
LOCAL_MODEL = "local"


# On one core it reads about 150 tokens per second: a long prompt would take more time than the answer.
THIS_MACHINE = ModelEntry(
    model=MODEL_NAME,
    base_url="http://127.0.0.1/v1",
    context_tokens=CONTEXT_TOKENS // 8,
    review_tokens=CONTEXT_TOKENS // 4 * 3,
    plain=True,
    retries=1,
)


class ParserTable(EntryBase):
    """`[parser]`: what turns users' sentences into parameters of the dialog memory."""

    #: A registered agent, such as a model.
    agent: str | None = Field(default=None, min_length=1, max_length=200)
    #: A function of a `Sentence`.
    callable: CallablePath | None = None

    @model_validator(mode="after")
    def _check_parser(self) -> Self:
        if (self.agent is None) == (self.callable is None):
            raise ValueError("either `agent` or `callable` must be set")
        return self


class FileTables(EntryBase):
    """Tables of an agents file besides its guards and agents."""

    models: dict[str, ModelEntry] = Field(default_factory=dict)
    tools: dict[ToolName, ToolEntry] = Field(default_factory=dict)
    mcp: dict[ToolName, McpEntry] = Field(default_factory=dict)
    #: Modules that mark agents in their code.
    modules: tuple[ModuleName, ...] = Field(default=(), max_length=1_000)
    webhooks: Webhooks = Webhooks()
    #: None: the parser that a module registers.
    parser: ParserTable | None = None

    def find_model(self, name: str) -> ModelEntry:
        """Return the entry of a model; a name without a table is a model name of pydantic-ai."""
        entry = self.models.get(name)
        if entry is not None:
            return entry
        return THIS_MACHINE if name == LOCAL_MODEL else ModelEntry(model=name)
