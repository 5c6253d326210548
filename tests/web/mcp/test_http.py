"""MCP over HTTP, as `symposia serve` serves it: tokens, tenants, forms, and a worker that is lost."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, closing

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from live import LiveWorker, until
from mcp_clients import ERAS, INITIALIZE, answering, run
from scaling import patient
from servers.web import WebServer
from symposia.web.mcp.forms import FormState

#: The first test starts a worker and a server.
pytestmark = [pytest.mark.long, pytest.mark.timeout(150)]

HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(terminal):
    """`symposia serve` that needs tokens."""
    settings = {**terminal.settings, "mcp_wait_s": "30"}
    with closing(WebServer(terminal.folder, settings, options=())) as server:
        yield server.start()


def url(server):
    return f"http://127.0.0.1:{server.port}/mcp"


@asynccontextmanager
async def connected(server, token, **how):
    headers = {"Authorization": f"Bearer {token}"}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=patient(30)))
        transport = streamable_http_client(url(server), http_client=http)
        yield await stack.enter_async_context(Client(transport, **how))


def test_request_without_a_valid_token_is_401(server):
    for headers in (HEADERS, {**HEADERS, "Authorization": "Bearer sym_1_2"}):
        answer = httpx.post(url(server), json=INITIALIZE, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.headers["content-type"] == "application/problem+json"


@ERAS
def test_question_is_a_form_over_http(server, create_token, mode):
    async def steps():
        form = answering("accept", "yes")
        async with connected(server, create_token("ann"), mode=mode, elicitation_callback=form) as client:
            heard = []

            async def report(_progress, _total, message):
                heard.append(message)

            result = await client.call_tool("old_room", {}, progress_callback=report)
            data = result.structured_content
            assert (data["status"], data["text"]) == ("completed", "yes")
            assert "cleaner: yes" in heard

    run(steps())


def test_another_tenant_sees_nothing(server, create_token):
    async def steps():
        async with (
            connected(server, create_token("ann")) as ann,
            connected(server, create_token("eve", tenant="other")) as eve,
        ):
            data = (await ann.call_tool("old_room", {})).structured_content
            session = {"session_id": data["session_id"]}
            about = {**session, "question_id": data["questions"][0]["id"], "answer": "yes"}
            for name, arguments in (
                ("get_session", session),
                ("cancel_session", session),
                ("reply_to_question", about),
            ):
                refused = await eve.call_tool(name, arguments)
                assert refused.is_error
                assert "not found" in refused.content[0].text
            assert (await eve.call_tool("list_sessions", {})).structured_content["sessions"] == []
            assert (await eve.read_resource("symposia://inbox")).contents[0].text == "[]"
            assert [str(found.uri) for found in (await eve.list_resources()).resources] == [
                "symposia://inbox"
            ]
            with pytest.raises(MCPError, match="not found"):
                await eve.read_resource(f"symposia://sessions/{data['session_id']}/transcript")
            assert data["session_id"] in (await ann.read_resource("symposia://inbox")).contents[0].text
            await ann.call_tool("cancel_session", session)

    run(steps())


def test_connection_of_another_caller_is_not_found(server, create_token):
    opened = httpx.post(
        url(server), json=INITIALIZE, headers={**HEADERS, "Authorization": f"Bearer {create_token('ann')}"}
    )
    assert opened.status_code == 200
    taken = {**HEADERS, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for name, tenant in (("eve", "shop"), ("ann", "other")):
        headers = {**taken, "Authorization": f"Bearer {create_token(name, tenant=tenant)}"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert httpx.post(url(server), json=ping, headers=headers).status_code == 404


def test_caller_without_a_scope_is_refused(server, create_token):
    async def steps():
        async with connected(server, create_token("bob", scope="read")) as bob:
            refused = await bob.call_tool("poem", {"topic": "doors"})
            assert refused.is_error
            assert "submit" in refused.content[0].text

    run(steps())


def test_results_need_the_scope_or_the_own_session(server, create_token):
    async def steps():
        token = create_token("bob", scope="submit,reply,control")
        async with (
            connected(server, create_token("ann")) as ann,
            connected(server, token, mode="auto") as bob,
        ):
            data = (await ann.call_tool("old_room", {})).structured_content
            session, question = {"session_id": data["session_id"]}, data["questions"][0]["id"]
            state = FormState(data["session_id"], question).encode()
            refused = await bob.call_tool("old_room", {}, request_state=state)
            assert refused.is_error
            assert "read" in refused.content[0].text
            answer = {**session, "question_id": question, "answer": "yes"}
            assert not (await bob.call_tool("reply_to_question", answer)).is_error
            assert (await ann.call_tool("get_session", session)).structured_content["text"] == "yes"
            ended = (await bob.call_tool("cancel_session", session)).structured_content
            assert (ended["status"], ended["text"]) == ("completed", "")
            own = (await bob.call_tool("poem", {"topic": "doors"})).structured_content
            assert own["status"] == "completed"
            assert own["text"]

    run(steps())


def test_call_survives_the_worker(server, terminal, create_token, gate):
    """The worker of the turn is killed while a call waits; another one ends the session."""
    log = gate.with_name("log")

    async def steps():
        async with connected(server, create_token("ann")) as client:
            call = asyncio.create_task(client.call_tool("killed", {"gate": str(gate), "log": str(log)}))
            await asyncio.to_thread(until, log.exists, what="the turn has begun")
            first.process.kill()
            gate.touch()
            with closing(_worker("second", terminal)):
                data = (await call).structured_content
            assert (data["status"], data["ended"]) == ("completed", True)

    with closing(_worker("first", terminal)) as first:
        first.wait_ready()
        run(steps())


def _worker(name, terminal):
    """Only such a worker runs the turns of the agent of the session file `killed`."""
    environment = {f"SYMPOSIA_{key.upper()}": value for key, value in terminal.settings.items()}
    options = ["-Q", "symposia.on.doomed"]
    return LiveWorker(
        name, terminal.folder, environment, app="symposia.workers", concurrency=1, options=options
    )
