"""An agent of another system: a real A2A server of the SDK on loopback, which answers as its message says."""

from __future__ import annotations

import asyncio
import threading

import uvicorn
from a2a.helpers import new_data_part, new_raw_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from live import until
from servers.ports import HOST, own_port


class Executor(AgentExecutor):
    """Answers with what it got; `ask`, `fail` (once), `wait` and `file` in the text make it do so."""

    def __init__(self) -> None:
        self.received: list[Message] = []
        #: The end of the waiting ones.
        self.is_released = False
        self.has_failed = False

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.received.append(context.message)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        await updater.start_work()
        text = context.get_user_input()
        if "wait" in text:
            while not self.is_released:  # noqa: ASYNC110 - it is set by another thread
                await asyncio.sleep(0.02)
        if "ask" in text and "Answer: " not in text:
            await updater.requires_input(_say(updater, "which colour?"))
        elif "fail" in text and not self.has_failed:
            self.has_failed = True
            await updater.failed(_say(updater, "no paper"))
        elif "reject" in text:
            await updater.reject(_say(updater, "not mine"))
        elif "file" in text:
            files = [new_raw_part(b"a,b\n1,2\n", media_type="text/csv; charset=utf-8", filename="../t.csv")]
            await updater.add_artifact([*files, new_text_part("a table"), new_data_part({"rows": 1})])
            await updater.complete()
        else:
            await updater.add_artifact([new_text_part(f"got {text}")])
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _say(updater: TaskUpdater, line: str) -> Message:
    return updater.new_agent_message([new_text_part(line)])


class RemoteAgent:
    """The running server; requests without the token are refused, and the next ones with the given statuses."""

    def __init__(self, *, streaming: bool = True, token: str = "") -> None:
        self.executor = Executor()
        self.statuses: list[int] = []
        #: Body and headers of all answers but the card; None: those of the agent.
        self.body: tuple[bytes, dict[str, str]] | None = None
        #: Content encodings that requests have accepted.
        self.encodings: set[str | None] = set()
        self.token = token
        port = own_port()
        self.url = f"http://{HOST}:{port}"
        self.card = AgentCard(
            name="echo",
            description="Echoes.",
            version="1",
            supported_interfaces=[
                AgentInterface(url=f"{self.url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
            ],
            capabilities=AgentCapabilities(streaming=streaming),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="echo", name="echo", description="Echoes.", tags=["echo"])],
        )
        handler = DefaultRequestHandler(self.executor, InMemoryTaskStore(), self.card)
        routes = [*create_agent_card_routes(self.card), *create_jsonrpc_routes(handler, "/rpc")]
        app = Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._check)])
        config = uvicorn.Config(app, host=HOST, port=port, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        until(lambda: self._server.started, what="the agent listens")

    async def _check(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        self.encodings.add(request.headers.get("accept-encoding"))
        if request.method == "POST":
            if self.body is not None:
                return Response(self.body[0], headers=self.body[1])
            if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
                return PlainTextResponse("who are you?", 401)
            if self.statuses:
                return PlainTextResponse("", self.statuses.pop(0))
        return await call_next(request)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
