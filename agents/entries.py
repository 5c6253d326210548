"""What may stand in an agents file: models, and agents of three kinds.

    [models.house]                       # an endpoint that several agents share
    model = "qwen3-8b"
    base_url = "http://localhost:8000/v1"
    api_key_env = "HOUSE_KEY"            # the variable's name, never the key

    [agents.coder]
    kind = "llm"
    model = "house"                      # or any model pydantic-ai knows: "anthropic:claude-..."
    instructions = "You write Python."

    [agents.linter]
    kind = "python"
    callable = "my_project.agents:lint"

    [agents.greeter]
    kind = "scripted"
    replies = ["Hello, {last}", { pass = true }]

Only this file names code, environment variables and URLs; a job never does.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..models.options import AgentName
from ..models.waiting import WaitPolicy
from .scripted import AtEnd, Reply


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("must not hold credentials; name the variable with the key in api_key_env")
    return url


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("must be the name of an environment variable, never the key itself")
    return name


def _callable_path(path: str) -> str:
    sides = path.split(":")
    if len(sides) != 2 or not all(part.isidentifier() for side in sides for part in side.split(".")):
        raise ValueError("must be module:name, such as my_project.agents:lint")
    return path


HttpUrl = Annotated[str, AfterValidator(_http_url)]
Variable = Annotated[str, AfterValidator(_variable)]
CallablePath = Annotated[str, AfterValidator(_callable_path)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Window = Annotated[int, Field(ge=0, le=10_000)]


class Entry(BaseModel):
    """Base of the tables of an agents file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ModelEntry(Entry):
    """`[models.NAME]`: a language model and where it is served."""

    #: `provider:name` as pydantic-ai knows it, or, with `base_url`, the name the endpoint knows it by.
    model: str = Field(min_length=1)
    #: An OpenAI-compatible endpoint.
    base_url: HttpUrl | None = None
    #: Variable that holds the API key. None: what the provider's own client looks for, or no key.
    api_key_env: Variable | None = None
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


class LLMEntry(Entry):
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
    #: Instead of the model's own.
    context_tokens: Tokens | None = None
    structured: bool | None = None
    #: Messages of the dialog it is shown, at most.
    window: Window = 100


class PythonEntry(Entry):
    """`[agents.NAME] kind = "python"`."""

    kind: Literal["python"]
    #: `module:name` of a sync or async callable.
    callable: CallablePath
    window: Window = 100


class ScriptedEntry(Entry):
    """`[agents.NAME] kind = "scripted"`; a binding's parameter `replies` goes before these."""

    kind: Literal["scripted"]
    replies: tuple[Reply, ...] = Field(default=(), max_length=10_000)
    at_end: AtEnd = AtEnd.REPEAT
    #: None: as many as the replies need.
    window: Window | None = None


class HumanEntry(Entry, WaitPolicy):
    """`[agents.NAME] kind = "human"`: a person who answers when they can; a binding's `wait` goes before this one."""

    kind: Literal["human"]
    #: Messages that whoever stands in is shown, at most.
    window: Window = 100


AgentEntry = Annotated[LLMEntry | PythonEntry | ScriptedEntry | HumanEntry, Field(discriminator="kind")]


class AgentsFile(Entry):
    """A whole agents file."""

    models: dict[str, ModelEntry] = Field(default_factory=dict)
    agents: dict[AgentName, AgentEntry] = Field(default_factory=dict)
