"""Tools of model agents: registered Python functions, MCP (Model Context Protocol) servers, sessions, files of a review.

A job never names code or tools: the registry decides which tools an agent has.

The first parameter of a function is the context, which contains the turn:

    from pydantic_ai import RunContext
    from symposia.agents.llm.tools import ToolContext

    def book_room(ctx: RunContext[ToolContext], name: str) -> str:
        return rooms.book(name, idempotency_key=ctx.deps.effect_id)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, NoReturn

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext, Tool, ToolDefinition
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import NATIVE_TOOL_TYPES
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ...models.errors import AgentFailed
from ...models.prompts.panels import FROM_A_PARTICIPANT, format_panel
from ...models.sessions.recorded import RecordedTool
from ...models.text.numbered_lines import split_lines
from ...models.text.paths import MAX_PATH
from ...models.text.tags import clean_line
from ...models.text.words import count_of
from ...models.turns.turn import REVIEW_PARAMETER, Question, TurnContext
from ..agent import ReviewFilesPort
from ..execution.failures import to_agent_error
from ..execution.loading import load_callable
from ..tables import McpEntry, ToolEntry
from .approvals import AnswerNeeded, approval_metadata, find_answer, mark_tools
from .tool_failures import NamedServer, failure_metadata, mark_failing

_effect_id: ContextVar[str] = ContextVar("effect_id")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """`ctx.deps` of every tool."""

    #: The turn in which the model speaks.
    turn: TurnContext

    @property
    def effect_id(self) -> str:
        """Id of this call that is the same in every attempt of the turn: an idempotency key for effects."""
        return _effect_id.get()


@contextmanager
def use_effect_id(effect_id: str) -> Iterator[None]:
    """Set the effect id of the call that is made within the block."""
    token = _effect_id.set(effect_id)
    try:
        yield
    finally:
        _effect_id.reset(token)


Toolset = AbstractToolset[ToolContext]

#: Key of the effect id in the `_meta` of a call to an MCP server.
EFFECT_ID = "symposia/effect_id"

#: Arguments of a recorded tool: the server checks them.
_ANY_ARGUMENTS = SchemaValidator(core_schema.any_schema())

#: Timeout of a server's start and handshake in seconds; a server that starts an interpreter may take five.
_STARTING_S = 30.0

NO_MCP = "tools of MCP servers need the package fastmcp-slim: pip install 'symposia[mcp]'"


class Toolbox:
    """The tools of one agent.

    Args:
        functions: Python functions by name.
        servers: MCP servers by name.
        getenv: Returns the value of an environment variable.
        others: Further tools.

    Raises:
        AgentError: Not retryable; a function cannot be imported, a model cannot use its signature, or the
            package for MCP cannot be imported.
    """

    def __init__(
        self,
        functions: Mapping[str, ToolEntry],
        servers: Mapping[str, McpEntry],
        getenv: Callable[[str], str | None],
        others: Sequence[Tool[ToolContext]] = (),
    ) -> None:
        tools = [*(_function(name, entry) for name, entry in functions.items()), *others]
        self._functions: list[Toolset] = [FunctionToolset(tools, id="functions")] if tools else []
        self._servers = servers
        self._getenv = getenv
        if servers and has_mcp():
            _import_mcp()

    def toolsets(self) -> list[Toolset]:
        """Return the tools for one turn.

        Raises:
            AgentError: A server cannot be used; not retryable.
        """
        servers = (mcp_toolset(name, entry, self._getenv) for name, entry in self._servers.items())
        return [*self._functions, *servers]

    def replayed_toolsets(self, recorded: Sequence[RecordedTool]) -> list[Toolset]:
        """Return the tools for a replayed turn: the functions as they are now, those of servers from the record.

        No server is started or connected.
        """
        prefixes = tuple(f"{name}_" for name in self._servers)
        tools = [tool for tool in recorded if prefixes and tool.name.startswith(prefixes)]
        return [*self._functions, RecordedToolset(tools)] if tools else list(self._functions)

    def secrets(self) -> list[str]:
        """Return the secrets of the servers, which messages must not contain."""
        names = [name for server in self._servers.values() for name in server.variables]
        return [secret for secret in map(self._getenv, names) if secret]


class RecordedToolset(AbstractToolset[ToolContext]):
    """Tools of a record: a model can choose them, but they cannot be called."""

    def __init__(self, tools: Sequence[RecordedTool]) -> None:
        self._tools = tools

    @property
    def id(self) -> str:
        """Name of the set."""
        return "recorded"

    async def get_tools(self, ctx: RunContext[ToolContext]) -> dict[str, ToolsetTool[ToolContext]]:  # noqa: ARG002
        """Return the tools by name."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
                ),
                max_retries=1,
                args_validator=_ANY_ARGUMENTS,
            )
            for tool in self._tools
        }

    async def call_tool(self, name: str, *_: object, **__: object) -> NoReturn:
        """Refuse the call."""
        raise AgentFailed(f"a replay calls no tool ({name})", retryable=False)


def _function(name: str, entry: ToolEntry) -> Tool[ToolContext]:
    function = load_callable(entry.callable)
    try:
        return Tool(
            function,
            name=name,
            description=entry.description,
            timeout=entry.timeout_s,
            # Alone: the question would cancel another call while it runs, and the next attempt would repeat it.
            sequential=bool(entry.approval),
            metadata=(approval_metadata(entry.approval) or {})
            | failure_metadata(fails_turn=entry.on_error == "fail")
            or None,
        )
    except Exception as error:
        raise to_agent_error(error, retryable=False) from error


def mcp_toolset(name: str, entry: McpEntry, getenv: Callable[[str], str | None]) -> Toolset:
    """Return the tools of an MCP server. The connection is open from the first use to the end of the turn.

    Raises:
        AgentError: Not retryable; a variable is not set, or the package for MCP is not installed.
    """
    if not has_mcp():
        raise AgentFailed(NO_MCP, retryable=False)
    from pydantic_ai.mcp import MCPToolset

    toolset: Toolset = MCPToolset(
        _transport(entry, getenv),
        id=name,
        # `ToolCalls` decides what the model gets.
        tool_error_behavior="error",
        process_tool_call=_with_effect_id,
        init_timeout=_STARTING_S,
    )
    secrets = [secret for secret in map(getenv, entry.variables) if secret]
    toolset = NamedServer(toolset, name=name, secrets=secrets)
    if entry.tools is not None:
        wanted = frozenset(entry.tools)
        toolset = toolset.filtered(lambda _, tool: tool.name in wanted)
    if entry.approval:
        toolset = toolset.prepared(lambda _, tools: mark_tools(name, entry.approval, tools))
    if entry.on_error == "fail":
        toolset = toolset.prepared(lambda _, tools: mark_failing(tools))
    return toolset.prefixed(name)


def _transport(entry: McpEntry, getenv: Callable[[str], str | None]) -> Any:
    """Return how a server is reached."""
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
    from fastmcp.mcp_config import infer_transport_type_from_url

    if entry.command:
        program, *arguments = entry.command
        passed = {variable: _variable(variable, getenv) for variable in entry.env}
        return StdioTransport(program, arguments, env=passed or None, keep_alive=False)
    url = str(entry.url)
    headers = {header: _variable(variable, getenv) for header, variable in entry.headers_env.items()}
    token = _variable(entry.token_env, getenv) if entry.token_env else None
    is_sse = (entry.transport or infer_transport_type_from_url(url)) == "sse"
    return (SSETransport if is_sse else StreamableHttpTransport)(url, headers=headers or None, auth=token)


def has_mcp() -> bool:
    """Return whether the package for MCP is installed."""
    return find_spec("fastmcp") is not None


def _import_mcp() -> None:
    """Import the package for MCP in the calling thread.

    The import takes a second or more. In the event loop it would delay all turns of the process.
    """
    try:
        import_module("pydantic_ai.mcp")
    except Exception as error:
        raise to_agent_error(error, retryable=False) from error


async def _with_effect_id(
    ctx: RunContext[ToolContext], call: Any, name: str, arguments: dict[str, Any]
) -> Any:
    return await call(name, arguments, metadata={EFFECT_ID: ctx.deps.effect_id})


def provider_tools(kinds: Sequence[str]) -> list[NativeTool[ToolContext]]:
    """Return tools that the provider of the model runs itself, such as `web_search`."""
    return [NativeTool(NATIVE_TOOL_TYPES[kind]()) for kind in kinds]


def _variable(name: str, getenv: Callable[[str], str | None]) -> str:
    value = getenv(name)
    if not value:
        raise AgentFailed(f"environment variable {name} is not set", retryable=False)
    return value


_QUESTION = "the question, with all facts, the wanted form of the answer, and what is not part of it"
_NO_PANEL_ANSWER = "The panel gave no answer: {reason}. Go on without it and say so, or ask once more with a smaller question."


def session_tool(name: str, description: str) -> Tool[ToolContext]:
    """Return the tool with which a model calls a session; the turn is parked until the sub-session has ended."""

    async def ask(
        ctx: RunContext[ToolContext], question: Annotated[str, Field(description=_QUESTION)]
    ) -> str:
        call = ctx.deps.effect_id
        given = find_answer(ctx.deps.turn, call)
        if given is None:
            text = f"{FROM_A_PARTICIPANT}\n\n{question}"
            raise AnswerNeeded(Question(to=name, text=text, session=name, call=call))
        if given.text:
            return format_panel(name, given)
        return _NO_PANEL_ANSWER.format(reason=clean_line(given.error or "it said nothing", 500))

    # Alone: the end of the attempt would cancel another call while it runs, and the next attempt would repeat it.
    return Tool(ask, name=name, description=description, sequential=True)


#: Maximum bytes of one answer.
MAX_ANSWER_BYTES = 8_192
_NO_FILE = "There is no such file, or it cannot be read."


def review_toolsets(turn: TurnContext, files: ReviewFilesPort | None) -> list[Toolset]:
    """Return the tool for the reviewers of a panel with `read_files`; empty in other turns."""
    review = turn.parameters.get(REVIEW_PARAMETER)
    if files is None or not isinstance(review, dict):
        return []
    batch_id, item, left = review.get("batch"), review.get("item"), review.get("read_files")
    if not isinstance(batch_id, str) or not isinstance(item, int) or not isinstance(left, int):
        return []
    count = 0

    async def read_file(_: RunContext[ToolContext], path: str, first_line: int = 1) -> str:
        """Read a file of the reviewed project.

        Args:
            path: Its path below the root of the project.
            first_line: The first line to return, from 1.
        """
        nonlocal count
        count += 1
        if count > left:
            return f"At most {left} reads are allowed in a turn: answer with what you know."
        if not path.isprintable() or len(path) > MAX_PATH:
            return _NO_FILE
        text = await files.read_file(batch_id, item, path.removeprefix("./"))
        return _NO_FILE if text is None else _numbered(text, first_line)

    return [FunctionToolset([read_file], id="review_files")]


def _numbered(text: str, first: int) -> str:
    """Return lines with their numbers, cut to the maximum."""
    lines = split_lines(text)
    start = max(first, 1)
    shown = ""
    for number in range(start, len(lines) + 1):
        line = f"{number}: {lines[number - 1]}\n"
        if len((shown + line).encode()) > MAX_ANSWER_BYTES:
            return f"{shown}The file has {count_of(len(lines), 'line')}: read on from line {number}."
        shown += line
    return shown or f"The file has {count_of(len(lines), 'line')}."
