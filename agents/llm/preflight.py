"""Preflight checks of model agents: variables that are not set, code that cannot be imported.

They call no model and no server, and load no model library for an agent of an endpoint by URL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...models.errors import AgentError
from ..preflight import Fault
from ..python import load_callable, load_form
from .entries import LLMEntry, McpEntry, ModelEntry, ModelTables

Getenv = Callable[[str], str | None]


def llm_faults(entry: LLMEntry, file: ModelTables, getenv: Getenv) -> Iterator[Fault]:
    """Yield every problem of one entry."""
    for at, name in enumerate((entry.model, *entry.fallback)):
        field = f"fallback[{at - 1}]" if at else "model"
        known = file.models.get(name)
        if known is not None:
            yield from _model_faults(f"models.{name}", "model", known, getenv)
        elif ":" in name:
            yield from _model_faults("", field, ModelEntry(model=name), getenv)
    for name in entry.tools:
        if name in file.tools:
            yield from imported(file.tools[name].callable, f"tools.{name}", "callable")
        elif name in file.mcp:
            yield from _server_faults(f"mcp.{name}", file.mcp[name], getenv)
    if entry.output is not None:
        yield from imported(entry.output, "", "output", load=load_form)


def imported(
    path: str, table: str, field: str, *, load: Callable[[str], object] = load_callable
) -> Iterator[Fault]:
    """The fault of a path that does not import."""
    try:
        load(path)
    except AgentError as error:
        yield Fault(field, str(error), table)


def _model_faults(table: str, field: str, model: ModelEntry, getenv: Getenv) -> Iterator[Fault]:
    if model.api_key_env is not None:
        yield from _unset(table, "api_key_env", (model.api_key_env,), getenv)
    if model.base_url is None:
        from .clients import provider_problem

        problem = provider_problem(model.model)
        if problem:
            yield Fault(field, problem, table)


def _server_faults(table: str, server: McpEntry, getenv: Getenv) -> Iterator[Fault]:
    if server.token_env is not None:
        yield from _unset(table, "token_env", (server.token_env,), getenv)
    yield from _unset(table, "env", server.env, getenv)
    from .tools import NO_MCP, has_mcp

    if not has_mcp():
        yield Fault("url" if server.url else "command", NO_MCP, table)


def _unset(table: str, field: str, variables: tuple[str, ...], getenv: Getenv) -> Iterator[Fault]:
    for name in variables:
        if not getenv(name):
            yield Fault(field, f"environment variable {name} is not set", table)
