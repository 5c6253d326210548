"""Preflight checks of model agents: variables that are not set, and code that cannot be imported.

They call no model and no server, and load no model library for an endpoint that is given by URL without a provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module

from ...models.errors import MissingPackage
from ...models.extras import check_installed
from ...models.text.nearest import nearest_names
from ..entry import FieldProblem, KindEnv, check_import
from ..execution.loading import load_form
from ..tables import McpEntry, ModelEntry

#: What needs pydantic-ai, for the error.
WHAT = "an agent that calls models"


def model_field(at: int) -> str:
    """Return the field that names a model, by its position among the model and its fallback models."""
    return f"fallback[{at - 1}]" if at else "model"


def check_llm(
    models: Sequence[str], tools: Sequence[str], output: str | None, env: KindEnv
) -> Iterator[FieldProblem]:
    """Yield every problem of an agent with these models, these tools and this form of its output."""
    try:
        check_installed("pydantic_ai", WHAT)
    except MissingPackage as error:
        yield FieldProblem("model", str(error), "")
        return
    tables = env.tables
    for at, name in enumerate(models):
        entry = tables.models.get(name)
        if entry is not None:
            yield from _check_model(f"models.{name}", "model", entry, env)
        elif ":" in name:
            yield from _check_model("", model_field(at), ModelEntry(model=name), env)
    for name in tools:
        if name in tables.tools:
            yield from check_import(tables.tools[name].callable, f"tools.{name}", "callable")
        elif name in tables.mcp:
            yield from _check_mcp_server(f"mcp.{name}", tables.mcp[name], env)
    if output is not None:
        yield from check_import(output, "", "output", load=load_form)


def _check_model(table: str, field: str, model: ModelEntry, env: KindEnv) -> Iterator[FieldProblem]:
    if model.api_key_env is not None:
        yield from _check_variables(table, "api_key_env", (model.api_key_env,), env)
    if model.base_url is None or ":" in model.model:
        from .clients import provider_problem

        problem = provider_problem(model.model, model.base_url, names_key=model.api_key_env is not None)
        if problem:
            yield FieldProblem(field, problem, table)


def _check_mcp_server(table: str, server: McpEntry, env: KindEnv) -> Iterator[FieldProblem]:
    if server.token_env is not None:
        yield from _check_variables(table, "token_env", (server.token_env,), env)
    yield from _check_variables(table, "headers_env", tuple(server.headers_env.values()), env)
    yield from _check_variables(table, "env", server.env, env)
    from .tools import NO_MCP, has_mcp

    if not has_mcp():
        yield FieldProblem("url" if server.url else "command", NO_MCP, table)


def _check_variables(
    table: str, field: str, variables: Sequence[str], env: KindEnv
) -> Iterator[FieldProblem]:
    for name in variables:
        if not env.read_variable(name):
            yield FieldProblem(field, f"environment variable {name} is not set", table)


#: Providers whose settings begin with their name, as their module in pydantic-ai does.
_PROVIDERS = frozenset(
    {"anthropic", "bedrock", "cohere", "google", "groq", "mistral", "openai", "openrouter"}
)


def check_settings(settings: Iterable[str]) -> Iterator[FieldProblem]:
    """Yield settings of a provider that pydantic-ai does not know; those without an installed package are skipped."""
    for name in settings:
        provider = name.partition("_")[0]
        known = _settings_of(provider) if provider in _PROVIDERS else frozenset()
        if known and name not in known:
            rule = f"has the unknown model setting {name!r} ({nearest_names(name, known)})"
            yield FieldProblem("settings", rule, "")


@cache
def _settings_of(provider: str) -> frozenset[str]:
    try:
        loaded = import_module(f"pydantic_ai.models.{provider}")
    except ImportError:
        return frozenset()
    classes = [vars(loaded)[name] for name in dir(loaded) if name.endswith("ModelSettings")]
    return frozenset(
        field for each in classes for field in each.__annotations__ if field.startswith(provider)
    )
