"""The routes of agents: `/a2a/NAME`, by JSON-RPC.

A task is a session, and a context is a thread of sessions. The SDK reads and writes the protocol; its versions 1.0 and 0.3
are served at the same address.
"""

# ruff: noqa: ARG002 - the parameters are those of the SDK
from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NoReturn, cast

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ...client.aio.jobs import AsyncCollabJob
from ...models.errors import (
    InvalidInput,
    LifecycleError,
    ReplyRefused,
    SessionNotFound,
    SymposiaError,
)
from ...models.identity import Scope
from ...state.streams.updates import UpdateCursor
from ..context import ContextDep, Reader
from ..events import StopFollowing
from ..followed import newest_cursor
from ..problems import detail_of, status_of
from ..routes.files import read_file
from ..routing import StrictRoute
from .calls import Call, is_over
from .tasks import HISTORY, agent_card

router = APIRouter(prefix="/a2a/{name}", include_in_schema=False, route_class=StrictRoute)

#: Status of a body that is not JSON within the limits.
_NOT_JSON = 422


@router.get("/.well-known/agent-card.json")
async def get_card(name: str, request: Request, context: ContextDep, _: Reader) -> JSONResponse:
    """Return the card of a session file."""
    try:
        file = await context.client.run(read_file, name, context.settings)
    except InvalidInput:
        raise SessionNotFound(name[:100]) from None
    url = str(request.url).removesuffix("/.well-known/agent-card.json")
    return JSONResponse(agent_card_to_dict(agent_card(file, url)))


@router.post("")
async def call(name: str, request: Request, context: ContextDep, caller: Reader) -> Response:
    """Call a method of the protocol."""
    if name not in context.settings.jobs:
        raise SessionNotFound(name[:100])
    try:
        await request.json()  # within the limits of the API; the SDK reads the body again
    except HTTPException as error:
        if error.status_code != _NOT_JSON:
            raise
        problem = {"code": -32700, "message": error.detail}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": problem})
    request.state.a2a = Call(context, caller, name)
    return await _dispatcher.handle_requests(request)


class _ContextBuilder(ServerCallContextBuilder):
    def build(self, request: Request) -> ServerCallContext:
        return ServerCallContext(state={"headers": dict(request.headers), "call": request.state.a2a})


@asynccontextmanager
async def _converting() -> AsyncIterator[None]:
    """Raise the errors of the protocol."""
    try:
        yield
    except SessionNotFound:
        raise TaskNotFoundError from None
    except (LifecycleError, ReplyRefused) as error:
        raise UnsupportedOperationError(detail_of(error)) from None
    except StopFollowing:
        raise InternalError("the server stops; the request may be repeated") from None
    except SymposiaError as error:
        is_ours = status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR
        raise (InternalError if is_ours else InvalidParamsError)(detail_of(error)) from None


class _Handler(RequestHandler):
    """The methods of the protocol."""

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task:
        call = _call_of(context)
        config = params.configuration
        history = config.history_length if config.HasField("history_length") else HISTORY
        async with _converting():
            if config.HasField("task_push_notification_config"):
                raise PushNotificationNotSupportedError
            # A request that waits is an open connection like a stream.
            with call.context.limits.stream(call.caller):
                job, after = await call.accept(params.message)
                if not config.return_immediately:
                    await call.wait(job, after)
            return await call.task(job, history)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any, None]:
        call = _call_of(context)
        async with _converting():
            with call.context.limits.stream(call.caller):
                job, after = await call.accept(params.message)
                async for event in _stream(call, job, after):
                    yield event

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any, None]:
        call = _call_of(context)
        async with _converting():
            with call.context.limits.stream(call.caller):
                job = await call.find(params.id)
                if (await job.state()).is_final:
                    raise UnsupportedOperationError("the task has ended")
                async for event in _stream(call, job, await newest_cursor(call.context, job)):
                    yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        call = _call_of(context)
        history = params.history_length if params.HasField("history_length") else HISTORY
        async with _converting():
            return await call.task(await call.find(params.id), history)

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        call = _call_of(context)
        async with _converting():
            call.caller.require(Scope.CONTROL)
            job = await call.find(params.id)
            if (await job.state()).is_final:
                raise TaskNotCancelableError
            await job.cancel(by=call.caller.name)
            return await call.task(job)

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        raise UnsupportedOperationError("lists of tasks: use GET /v1/sessions")

    async def on_get_extended_agent_card(self, params: Any, context: ServerCallContext) -> AgentCard:
        raise UnsupportedOperationError("the card has no extended form")

    async def _refuse_push(self, params: Any, context: ServerCallContext) -> NoReturn:
        raise PushNotificationNotSupportedError

    on_create_task_push_notification_config = _refuse_push
    on_get_task_push_notification_config = _refuse_push
    on_list_task_push_notification_configs = _refuse_push
    on_delete_task_push_notification_config = _refuse_push


async def _stream(call: Call, job: AsyncCollabJob, after: UpdateCursor) -> AsyncGenerator[Any, None]:
    """Yield the task as it is now, and then its events, if it has not ended."""
    task = await call.task(job)
    yield task
    if not is_over(task.status):
        async for event in call.events(job, after):
            yield event


def _call_of(context: ServerCallContext) -> Call:
    return cast("Call", context.state["call"])


_dispatcher = JsonRpcDispatcher(_Handler(), _ContextBuilder(), enable_v0_3_compat=True)
