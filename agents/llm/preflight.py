"""Preflight checks of model agents: variables that are not set, code that cannot be imported.

They call no model and no server, and load no model library for an agent of an endpoint by URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...models.errors import AgentError
from ..preflight import FieldProblem
from ..python import load_callable, load_form
from .entries import LLMEntry, McpEntry, ModelEntry, ModelTables

Getenv = Callable[[str], str | None]


def check_llm_entry(entry: LLMEntry, file: ModelTables, getenv: Getenv) -> Iterator[FieldProblem]:
    """Yield every problem of one entry."""
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
    """The fault of a path that does not import."""
    try:
        load(path)
    except AgentError as error:
        yield FieldProblem(field, str(error), table)


def _check_model(table: str, field: str, model: ModelEntry, getenv: Getenv) -> Iterator[FieldProblem]:
    if model.api_key_env is not None:
        yield from _check_variables(table, "api_key_env", (model.api_key_env,), getenv)
    if model.base_url is None:
        from .clients import provider_problem

        problem = provider_problem(model.model)
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
