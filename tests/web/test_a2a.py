"""Session files as A2A agents: the SDK's own client, over real HTTP, with a real worker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

pytest.importorskip("a2a", reason="needs the extra a2a")

from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, new_data_part, new_text_part
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from live import LiveWorker, result_of, until
from scaling import patient
from servers.web import WebServer
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.text.ids import new_id

from .conftest import ASKING


@pytest.fixture(scope="module")
def agents(web, tmp_path_factory):
    """A server with another session file, on the installation of all tests."""
    folder = tmp_path_factory.mktemp("a2a")
    with web.serve(folder, {"asking": ASKING, "broken": "title: ["}) as server:
        yield server


@asynccontextmanager
async def connect(server: WebServer, name: str, *, streaming: bool = True) -> AsyncIterator[Client]:
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, f"http://127.0.0.1:{server.port}/a2a/{name}").get_agent_card()
        yield ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)


def message(text: str, *, message_id: str = "", task_id: str = "", context_id: str = "") -> Message:
    return Message(
        message_id=message_id or new_id(),
        task_id=task_id,
        context_id=context_id,
        role=Role.ROLE_USER,
        parts=[new_text_part(text)] if text else [],
    )


async def send(client: Client, sent: Message) -> list[StreamResponse]:
    return [event async for event in client.send_message(SendMessageRequest(message=sent))]


async def task_of(client: Client, sent: Message) -> Task:
    return (await send(client, sent))[-1].task


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 90))


def state_of(events: list[StreamResponse]) -> int:
    """The last state that a stream says; one that begins after the end has the task only."""
    statuses = [it.status_update.status if it.HasField("status_update") else it.task.status for it in events]
    return statuses[-1].state


def results_of(events: list[StreamResponse]) -> list[str]:
    updates = [it.artifact_update.artifact for it in events if it.HasField("artifact_update")]
    return [get_artifact_text(it) for it in (*updates, *events[0].task.artifacts)]


def test_stream_from_start_over_a_question_to_the_result(agents):
    async def test() -> None:
        async with connect(agents, "asking") as client:
            first = await send(client, message("Hello"))
            task = first[0].task
            assert state_of(first) == TaskState.TASK_STATE_INPUT_REQUIRED
            last = await send(client, message("Fine.", task_id=task.id))
            assert state_of(last) == TaskState.TASK_STATE_COMPLETED
            assert results_of(last) == ["Fine."]
            assert last[0].task.context_id == task.context_id
            stored = await client.get_task(GetTaskRequest(id=task.id))
            assert stored.status.state == TaskState.TASK_STATE_COMPLETED
            assert get_message_text(stored.history[0]) == "Hello"

    run(test)


def test_waiting_request_gets_the_ended_task(agents):
    async def test() -> None:
        async with connect(agents, "haiku", streaming=False) as client:
            sent = message("doors")
            sent.parts.append(new_data_part({"lines": 2}))
            task = await task_of(client, sent)
            assert task.status.state == TaskState.TASK_STATE_COMPLETED
            assert get_artifact_text(task.artifacts[0])
            again = await task_of(client, sent)
            assert again.id == task.id
        session = agents.get(f"/sessions/{task.id}")
        assert session["purpose"] == "Write 2 lines about doors."

    run(test)


def test_context_is_a_thread_of_sessions(agents):
    async def test() -> None:
        async with connect(agents, "haiku", streaming=False) as client:
            first = await task_of(client, message("doors", context_id="my talk"))
            second = await task_of(client, message("keys", context_id="my talk"))
            assert first.context_id == second.context_id == "my talk"
        threads = {agents.get(f"/sessions/{task.id}")["thread_id"] for task in (first, second)}
        assert len(threads) == 1
        assert first.id != second.id

    run(test)


def test_concurrent_messages_of_a_context_start_one_session(agents):
    async def test() -> None:
        async with connect(agents, "asking", streaming=False) as client:
            sent = [message("Hello", context_id=f"race {agents.port}") for _ in range(4)]
            answers = await asyncio.gather(*(task_of(client, it) for it in sent), return_exceptions=True)
        tasks = [answer for answer in answers if isinstance(answer, Task)]
        errors = [answer for answer in answers if not isinstance(answer, Task)]
        assert len(tasks) == 1
        assert all(isinstance(error, UnsupportedOperationError) for error in errors)

    run(test)


CALLER = """
[webhooks]
networks = ["127.0.0.0/8"]

[agents.caller]
kind = "a2a"
url = "http://127.0.0.1:{port}/a2a/asking"
"""


def test_session_of_ours_is_a_remote_agent_of_another_one(agents, web, tmp_path):
    (tmp_path / "agents.toml").write_text(CALLER.format(port=agents.port))
    settings = {**web.settings, "agents_file": tmp_path / "agents.toml"}
    worker = LiveWorker(
        "w2",
        tmp_path,
        {f"SYMPOSIA_{name.upper()}": str(value) for name, value in settings.items()},
        app="symposia.workers",
        concurrency=2,
    )
    try:
        worker.wait_ready()
        collab = Collab(
            title="Two sessions",
            purpose="Ask the other session.",
            mode="round_robin",
            participants=[Participant(participant_id="caller")],
        )
        job = web.client.submit(collab, messages=["Hello"], stop={"max_rounds": 1}, approvers=["dan"])
        (question,) = until(job.pending, what="the other session asks")
        assert question.question.text == "ben is asked to speak."
        job.reply("dan", "Fine.")
        assert result_of(job).text == "Fine."
    finally:
        worker.close()


def test_same_answer_again_answers_no_other_question(agents):
    async def test() -> None:
        async with connect(agents, "asking", streaming=False) as client:
            task = await task_of(client, message("Hello"))
            answer = message("Fine.", task_id=task.id)
            ended = await task_of(client, answer)
            assert ended.status.state == TaskState.TASK_STATE_COMPLETED
            assert (await task_of(client, answer)).id == task.id
            with pytest.raises(UnsupportedOperationError, match="has ended"):
                await task_of(client, message("More.", task_id=task.id))

    run(test)


def test_cancelled_task_ends_the_streams(agents):
    async def test() -> None:
        async with connect(agents, "asking") as client, connect(agents, "haiku") as other:
            task = (await send(client, message("Hello")))[0].task
            with pytest.raises(TaskNotFoundError):
                await other.get_task(GetTaskRequest(id=task.id))
            cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
            assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
            with pytest.raises(UnsupportedOperationError):
                async for _ in client.subscribe(SubscribeToTaskRequest(id=task.id)):
                    pass

    run(test)


def test_invalid_input_names_field_and_rule(agents):
    async def test() -> None:
        async with connect(agents, "haiku", streaming=False) as client:
            sent = message("doors")
            sent.parts.append(new_data_part({"lines": "many"}))
            with pytest.raises(InvalidParamsError, match="lines"):
                await task_of(client, sent)

    run(test)


def test_error_names_no_path_of_the_server(agents):
    params = {"message": {"messageId": new_id(), "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    url = f"http://127.0.0.1:{agents.port}/a2a/broken"
    error = httpx.post(url, json=body, headers={"A2A-Version": "1.0"}).json()["error"]
    assert (error["code"], error["message"]) == (-32602, "the session file cannot be used")


def test_killed_server_loses_no_task(agents):
    async def test() -> None:
        sent = message("Hello")
        async with connect(agents, "asking") as client:
            task = (await send(client, sent))[0].task
        agents.http.close()
        agents.kill()
        agents.start()
        async with connect(agents, "asking", streaming=False) as client:
            assert (await task_of(client, sent)).id == task.id
            ended = await task_of(client, message("Fine.", task_id=task.id))
            assert ended.status.state == TaskState.TASK_STATE_COMPLETED

    run(test)


def test_older_protocol_is_served(agents):
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send"}
    parts = [{"kind": "text", "text": "doors"}]
    sent = {"kind": "message", "messageId": new_id(), "role": "user", "parts": parts}
    url = f"http://127.0.0.1:{agents.port}/a2a/haiku"
    answer = httpx.post(url, json={**body, "params": {"message": sent}}, timeout=60).json()
    assert answer["result"]["status"]["state"] == "completed"


@pytest.mark.parametrize(
    "content",
    [b"{", b"[" * 500 + b"]" * 500, b"[]", b'{"jsonrpc": "1.0"}'],
    ids=["cut", "deep", "list", "version"],
)
def test_malformed_body_is_an_error_of_the_protocol(agents, content):
    answer = httpx.post(f"http://127.0.0.1:{agents.port}/a2a/haiku", content=content)
    assert answer.json()["error"]["code"] in (-32700, -32600)


def test_a_server_loads_the_sdks_only_when_it_needs_them():
    program = (
        "import sys; from symposia.config.settings import Settings; from symposia.web.app import create_app;"
        "create_app(Settings(), authenticate=False); print({'a2a', 'mcp'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=patient(60)
    )
    assert done.stdout == "set()\n"
