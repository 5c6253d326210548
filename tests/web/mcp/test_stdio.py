"""`symposia mcp` as a process, with the client of the SDK: tools, waits, questions, cancellation."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest

from mcp_clients import ERAS, INITIALIZE, answering, run, until_true
from symposia.models.text.ids import new_id

#: The first test starts a worker.
pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]


@ERAS
def test_session_file_is_a_tool_with_its_inputs(connect, mode):
    async def steps():
        async with connect(mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"poem", "old_room", "gated", "list_sessions", "get_session"} <= tools.keys()
            schema = tools["poem"].input_schema
            assert schema["required"] == ["topic"]
            assert schema["properties"]["lines"]["enum"] == [1, 3]
            heard = []

            async def report(progress, _total, message):
                heard.append((progress, message))

            result = await client.call_tool("poem", {"topic": "doors"}, progress_callback=report)
            assert not result.is_error
            data = result.structured_content
            assert (data["status"], data["ended"], data["turns"]) == ("completed", True, 1)
            assert json.loads(result.content[0].text) == data
            assert [message for _, message in heard if message.startswith("ann: ")]
            transcript = await client.read_resource(result.content[1].uri)
            assert "Write 3 lines about doors." in transcript.contents[0].text

    run(steps())


def test_wrong_input_is_one_message_with_field_value_and_rule(connect):
    async def steps():
        async with connect() as client:
            result = await client.call_tool("poem", {"topic": "doors", "lines": 2})
            assert result.is_error
            assert result.content[0].text == "inputs.lines: must be one of 1, 3 (got 2)"
            result = await client.call_tool("get_session", {})
            assert result.is_error
            assert "session_id: is required" in result.content[0].text
            result = await client.call_tool("get_session", {"session_id": new_id()})
            assert result.is_error
            assert "not found" in result.content[0].text

    run(steps())


@ERAS
def test_question_is_a_form_of_the_client(connect, mode):
    async def steps():
        seen = []
        async with connect(mode=mode, elicitation_callback=answering("accept", "no", seen)) as client:
            data = (await client.call_tool("old_room", {})).structured_content
            assert (data["status"], data["text"]) == ("completed", "no")
        (form,) = seen
        assert "May I delete it?" in form.message
        assert form.requested_schema["properties"]["answer"]["enum"] == ["yes", "no"]

    run(steps())


@ERAS
@pytest.mark.parametrize("form", [("decline",), ("accept", "perhaps"), ("accept",)])
def test_form_without_a_valid_answer_returns_the_question(connect, mode, form):
    async def steps():
        async with connect(mode=mode, elicitation_callback=answering(*form)) as client:
            data = (await client.call_tool("old_room", {})).structured_content
            assert not data["ended"]
            assert len(data["questions"]) == 1
            result = await client.call_tool("cancel_session", {"session_id": data["session_id"]})
            assert result.structured_content["status"] == "cancelled"

    run(steps())


def test_form_of_a_question_that_is_answered_elsewhere_is_closed(connect):
    async def steps():
        shown = asyncio.Event()

        async def form(_context, _params):
            shown.set()
            await asyncio.Event().wait()

        async with connect(mode="legacy", elicitation_callback=form) as client:
            call = asyncio.create_task(client.call_tool("old_room", {}))
            await shown.wait()
            (question,) = json.loads((await client.read_resource("symposia://inbox")).contents[0].text)
            about = {"session_id": question["session_id"], "question_id": question["id"]}
            await client.call_tool("reply_to_question", {**about, "answer": "yes"})
            assert (await call).structured_content["text"] == "yes"

    run(steps())


@ERAS
def test_without_forms_the_question_is_answered_by_a_tool(connect, mode):
    async def steps():
        async with connect(mode=mode) as client:
            data = (await client.call_tool("old_room", {})).structured_content
            (question,) = data["questions"]
            assert (question["asked"], question["choices"]) == (["ben"], ["yes", "no"])
            inbox = await client.read_resource("symposia://inbox")
            assert question["id"] in inbox.contents[0].text
            about = {"session_id": data["session_id"], "question_id": question["id"]}
            refused = await client.call_tool("reply_to_question", {**about, "answer": "maybe"})
            assert refused.is_error
            assert "yes, no" in refused.content[0].text
            await client.call_tool("reply_to_question", {**about, "answer": "yes"})
            end = (
                await client.call_tool("get_session", {"session_id": data["session_id"]})
            ).structured_content
            assert (end["ended"], end["text"]) == (True, "yes")

    run(steps())


def test_wait_ends_at_its_limit_and_continues_with_get_session(connect, gate):
    async def steps():
        async with connect("--wait", "0.5") as client:
            data = (await client.call_tool("gated", {"gate": str(gate)})).structured_content
            assert (data["status"], data["ended"]) == ("active", False)
            assert data["session_id"] in data["next_step"]
            listed = (await client.call_tool("list_sessions", {"status": "active"})).structured_content
            assert data["session_id"] in [session["session_id"] for session in listed["sessions"]]
            gate.touch()

            async def ended():
                call = await client.call_tool("get_session", {"session_id": data["session_id"]})
                return call.structured_content["ended"]

            await until_true(ended, "it has ended")

    run(steps())


def test_cancelled_call_stops_waiting_and_the_session_continues(connect, gate):
    run(_cancel_a_call(connect(), gate, status="completed"))


def test_cancelled_call_cancels_the_session_if_configured(connect, gate):
    run(_cancel_a_call(connect("--cancel-sessions"), gate, status="cancelled"))


async def _cancel_a_call(connected, gate, *, status):
    async with connected as client:

        async def sessions():
            page = (await client.call_tool("list_sessions", {"limit": 1})).structured_content["sessions"]
            return page[0] if page else {"session_id": "", "title": "", "status": ""}

        before = (await sessions())["session_id"]
        call = asyncio.create_task(client.call_tool("gated", {"gate": str(gate)}))

        async def runs():
            return (await sessions())["session_id"] != before

        await until_true(runs, "it was submitted")
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

        async def is_over():
            if status == "completed":
                gate.touch()
            return (await sessions())["status"] == status

        await until_true(is_over, status)


def test_call_with_the_same_key_is_the_same_session(connect):
    async def steps():
        key = {"symposia/effect_id": new_id()}
        async with connect() as client, connect("--as", "eve") as other:
            first = await client.call_tool("poem", {"topic": "keys"}, meta=key)
            again = await client.call_tool("poem", {"topic": "keys"}, meta=key)
            assert first.structured_content["session_id"] == again.structured_content["session_id"]
            changed = await client.call_tool("poem", {"topic": "locks"}, meta=key)
            assert changed.is_error
            stranger = await other.call_tool("poem", {"topic": "keys"}, meta=key)
            assert stranger.structured_content["session_id"] != first.structured_content["session_id"]

    run(steps())


def test_standard_output_has_nothing_but_the_protocol(terminal):
    lines = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}, "no message"]
    settings = {**terminal.settings, "log_level": "DEBUG"}
    said = type(terminal)(terminal.folder, settings).run(
        "mcp", stdin="".join(f"{json.dumps(line)}\n" for line in lines)
    )
    assert said.code == 0
    (answer,) = map(json.loads, said.out.splitlines())
    assert answer["result"]["serverInfo"]["name"] == "symposia"


def test_tool_names_that_become_the_same_are_an_error_at_the_start(terminal):
    jobs = json.loads(terminal.settings["jobs"])
    settings = {**terminal.settings, "jobs": json.dumps({**jobs, "old_room": jobs["poem"]})}
    said = type(terminal)(terminal.folder, settings).call("mcp")
    assert said.code == 2
    assert "must differ from 'old room' as an MCP tool: both become 'old_room' (got 'old_room')" in said.err
    assert said.out == ""
