"""The MCP server: its handlers, for stdio and for HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ...models.errors import SymposiaError
from ...models.identity import Caller
from ..context import WebContext
from .calls import ToolAnswer, ToolCall
from .options import ServerOptions
from .resources import list_resources, read_resource, resource_templates
from .session_tools import SessionTools

Request = ServerRequestContext[Any, Any]
_INSTRUCTIONS = (
    "Each tool with a title of a session starts a session of several agents and returns its result. A session that takes "
    "longer continues; call get_session with its id. A session may ask a person: show the question to the user, and send "
    "their answer with reply_to_question."
)


def build_server(
    context: WebContext,
    tools: SessionTools,
    options: ServerOptions,
    *,
    find_caller: Callable[[Request], Caller],
) -> Server[Any]:
    """Return the server.

    Args:
        context: The context.
        tools: The tools of session files.
        options: How calls wait, and what errors say.
        find_caller: Returns the caller of a request.
    """

    async def on_list_tools(
        _: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await context.client.run(tools.list_tools))

    async def on_call_tool(request: Request, params: types.CallToolRequestParams) -> ToolAnswer:
        return await ToolCall(context, tools, options, find_caller(request), request, params).run()

    async def on_list_resources(
        request: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        with _as_protocol_errors(options):
            return types.ListResourcesResult(resources=await list_resources(context, find_caller(request)))

    async def on_list_templates(
        _: Request, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resource_templates())

    async def on_read_resource(
        request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with _as_protocol_errors(options):
            contents = await read_resource(context, find_caller(request), params.uri)
            return types.ReadResourceResult(contents=[contents])

    return Server(
        "symposia",
        version=version("symposia"),
        title="Symposia",
        instructions=_INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_templates,
        on_read_resource=on_read_resource,
    )


@contextmanager
def _as_protocol_errors(options: ServerOptions) -> Iterator[None]:
    try:
        yield
    except SymposiaError as error:
        raise MCPError(types.INTERNAL_ERROR, options.describe(error)) from None
