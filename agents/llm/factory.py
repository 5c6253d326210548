"""Factory of model agents from registry entries of kind `llm`, and preflight checks of such entries.

An agent has a model, fallback models, settings and tools. The checks find variables that are not set and
code that cannot be imported. They call no model and no server, and load no model library for an endpoint
that is given by URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from ...models.errors import AgentError, AgentFailed, MissingPackage
from ...models.extras import check_installed
from ...models.sessions.known_agents import ReaderModel
from ...models.sessions.options import AgentBinding
from ..entry_base import FieldProblem
from ..local_model.server import CONTEXT_TOKENS, MODEL_NAME, missing_part
from ..python import load_callable, load_form
from .entries import LLMEntry, McpEntry, ModelEntry, ModelTables

if TYPE_CHECKING:
    from .agent import LLMAgent
    from .settings import ModelSource
    from .tools import Toolbox

_MODELS = "an agent that calls models"

Getenv = Callable[[str], str | None]


def check_llm_entry(entry: LLMEntry, file: ModelTables, getenv: Getenv) -> Iterator[FieldProblem]:
    """Yield every problem of one entry."""
    try:
        check_installed("pydantic_ai", _MODELS)
    except MissingPackage as error:
        yield FieldProblem("model", str(error), "")
        return
    for at, name in enumerate((entry.model, *entry.fallback)):
        field = f"fallback[{at - 1}]" if at else "model"
        known = file.models.get(name)
        if known is not None:
            yield from _check_model(f"models.{name}", "model", known, getenv)
        elif ":" in name:
            yield from _check_model("", field, ModelEntry(model=name), getenv)
    for name in entry.tools:
        if name in file.tools:
            yield from check_import(file.tools[name].callable, f"tools.{name}", "callable")
        elif name in file.mcp:
            yield from _check_mcp_server(f"mcp.{name}", file.mcp[name], getenv)
    if entry.output is not None:
        yield from check_import(entry.output, "", "output", load=load_form)


def check_import(
    path: str, table: str, field: str, *, load: Callable[[str], object] = load_callable
) -> Iterator[FieldProblem]:
    """Yield a problem if the path cannot be imported."""
    try:
        load(path)
    except AgentError as error:
        yield FieldProblem(field, str(error), table)


def _check_model(table: str, field: str, model: ModelEntry, getenv: Getenv) -> Iterator[FieldProblem]:
    if model.api_key_env is not None:
        yield from _check_variables(table, "api_key_env", (model.api_key_env,), getenv)
    if model.base_url is None:
        from .clients import provider_problem

        problem = provider_problem(model.model, names_key=model.api_key_env is not None)
        if problem:
            yield FieldProblem(field, problem, table)


def _check_mcp_server(table: str, server: McpEntry, getenv: Getenv) -> Iterator[FieldProblem]:
    if server.token_env is not None:
        yield from _check_variables(table, "token_env", (server.token_env,), getenv)
    yield from _check_variables(table, "env", server.env, getenv)
    from .tools import NO_MCP, has_mcp

    if not has_mcp():
        yield FieldProblem("url" if server.url else "command", NO_MCP, table)


def _check_variables(
    table: str, field: str, variables: tuple[str, ...], getenv: Getenv
) -> Iterator[FieldProblem]:
    for name in variables:
        if not getenv(name):
            yield FieldProblem(field, f"environment variable {name} is not set", table)


T = TypeVar("T")

#: Name of the model that runs on this machine; a [models.local] table replaces it.
LOCAL_MODEL = "local"

# On one core it reads about 150 tokens per second: a long prompt would take more time than the answer.
_LOCAL = ModelEntry(
    model=MODEL_NAME,
    base_url="http://127.0.0.1/v1",
    context_tokens=CONTEXT_TOKENS // 8,
    review_tokens=CONTEXT_TOKENS // 4 * 3,
    plain=True,
    retries=1,
)

_NOT_RUNNING = (
    "the local model is installed but not running on this machine: start or restart `symposia up` without"
    " --no-local-model"
)


class ModelAgentFactory:
    """Factory of model agents. Imports pydantic-ai for the first agent.

    Args:
        file: The models, tools and servers that agents refer to by name.
        getenv: Returns the value of an environment variable.
        local_model: Returns the URL of the running local model, or None.
        sessions: Descriptions of the sessions that agents may call, by name.
    """

    def __init__(
        self,
        file: ModelTables,
        *,
        getenv: Callable[[str], str | None],
        local_model: Callable[[], str | None],
        sessions: Mapping[str, str],
    ) -> None:
        self._file = file
        self._sessions = sessions
        self._getenv = getenv
        self._local_model = local_model

    def create_agent(self, binding: AgentBinding, entry: LLMEntry) -> LLMAgent:
        """Return the agent of an entry, with the binding's overrides.

        Raises:
            AgentError: A tool or the output form cannot be loaded, or pydantic-ai is not installed.
        """
        try:
            check_installed("pydantic_ai", _MODELS)
        except MissingPackage as error:
            raise AgentFailed(str(error), retryable=False) from None
        from ..python import load_form
        from .agent import LLMAgent
        from .settings import LLMSettings

        model = self.find_model(entry.model)
        llm_settings = LLMSettings(
            instructions=_either(binding.instructions, entry.instructions),
            temperature=_either(binding.temperature, entry.temperature),
            max_tokens=_either(binding.max_tokens, entry.max_tokens),
            settings=entry.settings,
            context_tokens=_either(entry.context_tokens, model.context_tokens),
            review_tokens=_either(entry.context_tokens, model.review_tokens),
            structured=_either(entry.structured, model.structured),
            window=entry.window,
            summary=entry.summary and not model.plain,
            plain=model.plain,
            stream=model.stream,
            output=load_form(entry.output) if entry.output else None,
            request_timeout_s=model.request_timeout_s,
            retries=model.retries,
            max_requests=entry.max_requests,
            fails_if_cut=entry.cut_answers == "fail",
            attachments=tuple(self.find_model(it).attachments for it in (entry.model, *entry.fallback)),
        )
        return LLMAgent(lambda: self._sources(entry), llm_settings, toolbox=self._toolbox(entry))

    def describe_reader(self, entry: LLMEntry) -> ReaderModel:
        """Return what a review must know of an agent: its window, its prices, and an identity of its settings."""
        models = [self.find_model(name) for name in (entry.model, *entry.fallback)]
        first = models[0]
        settings = [entry.model_dump_json(), *(it.model_dump_json(exclude={"attachments"}) for it in models)]
        return ReaderModel(
            model=first.model,
            identity=sha256("\n".join(settings).encode()).hexdigest()[:16],
            context_tokens=entry.context_tokens or first.review_tokens or first.context_tokens,
            input_usd_per_million=first.input_usd_per_million,
            output_usd_per_million=first.output_usd_per_million,
        )

    def uses_local_model(self, entry: LLMEntry) -> bool:
        """Return whether the agent's first model is the local model; fallback models do not count."""
        return self.find_model(entry.model) is _LOCAL

    def check_entry(self, entry: LLMEntry) -> Iterator[FieldProblem]:
        """Yield the problems of an entry."""
        return check_llm_entry(entry, self._file, self._getenv)

    def _toolbox(self, entry: LLMEntry) -> Toolbox | None:
        """Return the agent's tools. Each turn connects to its servers itself: a token may change."""
        if not entry.tools:
            return None
        from .session_tools import session_tools
        from .tools import Toolbox

        functions = {name: self._file.tools[name] for name in entry.tools if name in self._file.tools}
        servers = {name: self._file.mcp[name] for name in entry.tools if name in self._file.mcp}
        sessions = {
            name: self._sessions[name]
            for name in entry.tools
            if name in self._sessions and name not in functions and name not in servers
        }
        return Toolbox(functions, servers, self._getenv, session_tools(sessions))

    def find_model(self, name: str) -> ModelEntry:
        """Return the entry of a model; a name without a table is a model name of pydantic-ai."""
        known = self._file.models.get(name)
        if known is not None:
            return known
        return _LOCAL if name == LOCAL_MODEL else ModelEntry(model=name)

    def _sources(self, entry: LLMEntry) -> list[ModelSource]:
        """Return the models of an entry that are available now. Raises AgentError if none is."""
        found, troubles = [], []
        for name in (entry.model, *entry.fallback):
            try:
                found.append(self._source(name))
            except AgentError as trouble:
                troubles.append(trouble)
        if not found:
            raise troubles[0]
        return found

    def _source(self, name: str) -> ModelSource:
        from .clients import Endpoint
        from .settings import ModelSource, Price

        model = self.find_model(name)
        if model is _LOCAL:
            url = self._local_model()
            if url is None:
                if (missing := missing_part()) is not None:
                    raise AgentFailed(missing, retryable=False)
                raise AgentFailed(_NOT_RUNNING)
            return ModelSource(Endpoint(model.model, f"{url}/v1"), entry=name)
        key = self._getenv(model.api_key_env) if model.api_key_env else None
        if model.api_key_env and not key:
            raise AgentFailed(f"environment variable {model.api_key_env} is not set", retryable=False)
        price = None
        if model.input_usd_per_million is not None or model.output_usd_per_million is not None:
            price = Price(
                input=model.input_usd_per_million or 0.0,
                output=model.output_usd_per_million or 0.0,
                cached=model.cached_usd_per_million,
            )
        return ModelSource(Endpoint(model.model, model.base_url, key), price, name)


def _either(first: T | None, second: T) -> T:
    return second if first is None else first
