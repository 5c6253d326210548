"""Failures of tool calls: which of them the model gets as a result, and their text.

By default, the model gets the exception of a tool and continues: it may use another tool, or answer without one. A tool with
`on_error = "fail"` fails the attempt. Errors of Symposia itself always do, such as `AgentFailed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
)
from pydantic_ai.toolsets import WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from ...models.errors import AgentError, ToolServerFailed
from ..execution.failures import scrub_text
from .approvals import AnswerNeeded

#: Begin of the result of a failed call.
FAILED = "The tool failed: "
#: Key in the metadata of a tool that fails the attempt when it raises an exception.
_FAILS_TURN = "symposia_fails_turn"
#: Exceptions that steer pydantic-ai or the turn: no failures of a tool.
_CONTROL_FLOW = (
    AnswerNeeded,
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolRetryError,
)


class ToolFailure(Exception):
    """A tool has failed, and the model gets the text as its result."""


def failure_metadata(*, fails_turn: bool) -> dict[str, Any]:
    """Return the metadata of a tool."""
    return {_FAILS_TURN: True} if fails_turn else {}


def mark_failing(tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """Return tools that fail the attempt when they raise an exception."""
    return [replace(tool, metadata={**(tool.metadata or {}), _FAILS_TURN: True}) for tool in tools]


Handler = Callable[[dict[str, Any]], Awaitable[Any]]


def reporting_failures(handler: Handler, tool: ToolDefinition, secrets: Sequence[str]) -> Handler:
    """Return a handler that raises `ToolFailure` for an exception which the model gets."""
    fails_turn = bool((tool.metadata or {}).get(_FAILS_TURN))

    async def execute(arguments: dict[str, Any]) -> Any:
        try:
            return await handler(arguments)
        except _CONTROL_FLOW:
            raise
        except Exception as error:
            if fails_turn or (isinstance(error, AgentError) and not isinstance(error, ToolServerFailed)):
                raise
            raise ToolFailure(f"{FAILED}{_describe(error, secrets)}") from error

    return execute


def _describe(error: Exception, secrets: Sequence[str]) -> str:
    """Return an exception in one line without secrets."""
    if isinstance(error, UnexpectedModelBehavior) and isinstance(error.__cause__, ModelRetry):
        error = error.__cause__  # the tool has asked for a corrected call too often
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - `__str__` is code of the tool
        text = "its message cannot be read"
    speaks_for_itself = (AgentError, ModelRetry, ToolFailed, ToolFailedError)
    name = type(error).__name__
    if isinstance(error, speaks_for_itself) or name == "ToolError":  # an answer of an MCP server
        return scrub_text(text or name, secrets=secrets)
    return scrub_text(f"{name}: {text}" if text else name, secrets=secrets)


@dataclass
class NamedServer(WrapperToolset[Any]):
    """Tools of an MCP server whose failures name the server.

    Args:
        name: Name of its `[mcp]` table.
        secrets: Texts that an error must not contain.
    """

    name: str = ""
    secrets: Sequence[str] = ()

    async def __aenter__(self) -> NamedServer:
        """Connect to the server. Raises ToolServerFailed."""
        with self._naming():
            await self.wrapped.__aenter__()
        return self

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools of the server. Raises ToolServerFailed."""
        with self._naming():
            return await self.wrapped.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool. Raises ToolServerFailed if the server gives no answer."""
        with self._naming():
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except (*_CONTROL_FLOW, AgentError):
            raise
        except Exception as error:
            if (
                type(error).__name__ == "ToolError"
            ):  # the server's own answer; its package may not be installed
                raise
            line = f"MCP server {self.name!r} failed: {_describe(error, self.secrets)}"
            raise ToolServerFailed(line) from error
