"""Callers of other protocols see nothing of other tenants, and ids that they choose do not meet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.models.errors import Unauthorized
from symposia.models.identity import Caller, Scope
from symposia.web.app import create_app

WRITER = frozenset({Scope.SUBMIT, Scope.READ, Scope.REPLY, Scope.CONTROL})
CALLERS = {
    "Bearer ann": Caller("ann", "acme", WRITER),
    "Bearer ben": Caller("ben", "other", WRITER),
    "Bearer dan": Caller("dan", "acme", frozenset({Scope.READ})),
}


async def identify(authorization: str | None) -> Caller:
    if authorization not in CALLERS:
        raise Unauthorized
    return CALLERS[authorization]


class Requests:
    """Requests to the app by name of the caller."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def rpc(self, who: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"Authorization": f"Bearer {who}", "A2A-Version": "1.0"}
        answer = await self.http.post("/a2a/haiku", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()  # type: ignore[no-any-return]

    async def send(self, who: str, message_id: str, context_id: str = "") -> dict[str, Any]:
        message = {
            "messageId": message_id,
            "contextId": context_id,
            "role": "ROLE_USER",
            "parts": [{"text": "doors"}],
        }
        return await self.rpc(who, "SendMessage", {"message": message})

    async def chat(self, who: str, path: str, body: dict[str, Any]) -> httpx.Response:
        return await self.http.post(path, json=body, headers={"Authorization": f"Bearer {who}"})


@pytest.fixture
def requests(web) -> Callable[[Callable[[Requests], Awaitable[None]]], None]:
    def run(test: Callable[[Requests], Awaitable[None]]) -> None:
        async def within() -> None:
            settings = load_settings(**web.settings)
            async with AsyncClient(settings, worker_grace_s=float("inf")) as client:
                app = create_app(settings, client=client)
                app.state.symposia = replace(app.state.symposia, identify=identify)
                transport = httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
                    await test(Requests(http))

        asyncio.run(asyncio.wait_for(within(), 90))

    return run


def test_requests_without_a_token_are_refused(requests):
    async def test(requests: Requests) -> None:
        paths = ["/a2a/haiku", "/agui/haiku", "/ui/haiku"]
        answers = [await requests.http.post(path, json={}) for path in paths]
        answers.append(await requests.http.get("/a2a/haiku/.well-known/agent-card.json"))
        assert [answer.status_code for answer in answers] == [401] * 4

    requests(test)


def test_same_ids_of_two_tenants_are_two_tasks(requests):
    async def test(requests: Requests) -> None:
        tasks = [(await requests.send(who, "m1", "one context"))["result"]["task"] for who in ("ann", "ben")]
        assert tasks[0]["id"] != tasks[1]["id"]
        for method in ("GetTask", "CancelTask"):
            answer = await requests.rpc("ben", method, {"id": tasks[0]["id"]})
            assert answer["error"]["code"] == -32001
        own = await requests.rpc("ann", "GetTask", {"id": tasks[0]["id"]})
        assert own["result"]["status"]["state"] == "TASK_STATE_COMPLETED"

    requests(test)


def test_scope_is_required_for_each_method(requests):
    async def test(requests: Requests) -> None:
        task = (await requests.send("ann", "m2"))["result"]["task"]
        assert "result" in await requests.rpc("dan", "GetTask", {"id": task["id"]})
        assert "submit" in (await requests.send("dan", "m3"))["error"]["message"]
        run = {"threadId": "t", "runId": "r", "messages": []}
        assert (await requests.chat("dan", "/agui/haiku", run)).status_code == 403

    requests(test)


def test_threads_of_two_tenants_do_not_meet(requests):
    async def test(requests: Requests) -> None:
        run = {
            "threadId": "shared",
            "runId": "r1",
            "messages": [{"id": "1", "role": "user", "content": "doors"}],
        }
        chat = {
            "id": "shared",
            "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "doors"}]}],
        }
        for path, body in (("/agui/haiku", run), ("/ui/haiku", chat)):
            answers = [await requests.chat(who, path, body) for who in ("ann", "ben")]
            assert [answer.status_code for answer in answers] == [200, 200]
            assert answers[1].headers["content-type"].startswith("text/event-stream")
            ids = {line for answer in answers for line in answer.text.splitlines() if '"thread_id":' in line}
            assert len(ids) >= 2

    requests(test)
