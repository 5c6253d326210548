"""Session files for user interfaces: AG-UI events by the models of its package, and both streams by their own clients."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from typing import Any

import httpx
import pytest
from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

from live import until
from programs import NODE_PACKAGES, find_node_file
from scaling import patient
from servers.web import WebServer
from symposia.models.text.ids import new_id

from .conftest import ASKING

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
TALKING = """
title: A talk
purpose: Talk.
mode: round_robin
participants:
  - {participant_id: ann, agent: talks}
parameters: {gate: GATE, quiet: 0}
stop: {max_rounds: 1}
"""


@pytest.fixture(scope="module")
def chats(web, tmp_path_factory):
    """A server with session files for chats, on the installation of all tests."""
    folder = tmp_path_factory.mktemp("chats")
    (gate := folder / "gate").touch()
    rounds = ASKING.replace("max_rounds: 1", "max_rounds: 2")
    files = {"asking": ASKING, "rounds": rounds, "talking": TALKING.replace("GATE", str(gate))}
    with web.serve(folder, files) as server:
        yield server


def url(server: WebServer, path: str) -> str:
    return f"http://127.0.0.1:{server.port}{path}"


def run_agent(server: WebServer, name: str, thread: str, text: str = "", **more: Any) -> list[Any]:
    """The events of a run, each read by the models of the protocol."""
    messages = [{"id": new_id(), "role": "user", "content": text}] if text else []
    body = {"threadId": thread, "runId": new_id(), "messages": messages, **more}
    RunAgentInput.model_validate(body)
    answer = httpx.post(url(server, f"/agui/{name}"), json=body, timeout=patient(60))
    assert answer.status_code == 200, answer.text
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    events = [EVENTS.validate_json(line) for line in lines]
    assert events[0].type == "RUN_STARTED"
    assert events[-1].type in ("RUN_FINISHED", "RUN_ERROR")
    return events


def texts_of(events: list[Any]) -> list[str]:
    texts: dict[str, str] = {}
    for event in events:
        if event.type == "TEXT_MESSAGE_CONTENT":
            texts[event.message_id] = texts.get(event.message_id, "") + event.delta
    return list(texts.values())


def test_run_asks_and_the_next_run_answers(chats):
    thread = new_id()
    asked = run_agent(chats, "asking", thread, "Hello")
    (interrupt,) = asked[-1].outcome.interrupts
    assert interrupt.reason == "question"
    resume = [{"interruptId": interrupt.id, "status": "resolved", "payload": "Fine."}]
    ended = run_agent(chats, "asking", thread, resume=resume)
    assert ended[-1].outcome.type == "success"
    assert ended[-1].result["text"] == "Fine."
    assert texts_of(ended) == ["Fine."]
    third = run_agent(chats, "asking", thread, "Again")
    sessions = [events[1].snapshot["session"] for events in (asked, third)]
    assert sessions[0]["id"] != sessions[1]["id"]
    assert sessions[0]["thread_id"] == sessions[1]["thread_id"]


def test_text_alone_answers_the_question(chats):
    thread = new_id()
    run_agent(chats, "asking", thread, "Hello")
    assert texts_of(run_agent(chats, "asking", thread, "Fine.")) == ["Fine."]


def test_repeated_run_is_the_same_session(chats):
    again = {"runId": new_id()}
    thread = new_id()
    runs = [run_agent(chats, "talking", thread, "Hello", **again) for _ in range(2)]
    assert len({events[1].snapshot["session"]["id"] for events in runs}) == 1
    assert texts_of(runs[0])[-1] == texts_of(runs[1])[-1] == "**ann** speaks in turn 1."


def test_repeated_run_gets_the_messages_before_its_question(chats):
    thread, again = new_id(), {"runId": new_id()}
    first, second = (run_agent(chats, "rounds", thread, "Hello", **again) for _ in range(2))
    assert texts_of(first) == texts_of(second) == ["ann speaks in turn 1"]
    assert first[-1].outcome == second[-1].outcome
    answer = {"runId": new_id()}
    first, second = (run_agent(chats, "rounds", thread, "Fine.", **answer) for _ in range(2))
    assert texts_of(first) == texts_of(second) == ["Fine.", "ann speaks in turn 3"]


def test_run_gets_what_was_said_since_the_last_question(chats):
    thread = new_id()
    asked = run_agent(chats, "rounds", thread, "Hello")
    session_id = asked[1].snapshot["session"]["id"]
    reply = {"as": "ben", "text": "From elsewhere."}
    chats.http.post(f"/sessions/{session_id}/questions/2/reply", json=reply).raise_for_status()
    until(lambda: chats.get(f"/sessions/{session_id}/questions"), what="the second question")
    ended = run_agent(chats, "rounds", thread, "Fine.")
    assert texts_of(ended) == ["From elsewhere.", "ann speaks in turn 3", "Fine."]


def test_input_and_file_reach_the_session(chats):
    data = {"type": "data", "value": base64.b64encode(b"abc").decode(), "mimeType": "text/plain"}
    content = [{"type": "text", "text": "doors"}, {"type": "document", "source": data}]
    messages = [{"id": new_id(), "role": "user", "content": content}]
    events = run_agent(chats, "haiku", new_id(), messages=messages, forwardedProps={"inputs": {"lines": 2}})
    assert events[1].snapshot["session"]["purpose"] == "Write 2 lines about doors."


def test_run_beside_a_running_one_is_refused(chats):
    thread = new_id()
    run_agent(chats, "asking", thread, "Hello")
    body = {"threadId": thread, "runId": new_id(), "messages": [], "resume": []}
    body["resume"] = [{"interruptId": "0" * 32, "status": "resolved", "payload": "Fine."}]
    answer = httpx.post(url(chats, "/agui/asking"), json=body)
    assert answer.status_code == 409


def test_answer_to_an_expired_thread_starts_no_session(chats):
    body = {"threadId": new_id(), "runId": new_id(), "messages": []}
    body["resume"] = [{"interruptId": "0" * 32, "status": "resolved", "payload": "Fine."}]
    answer = httpx.post(url(chats, "/agui/asking"), json=body)
    assert (answer.status_code, "expired" in answer.json()["detail"]) == (409, True)


def test_killed_server_loses_no_run(chats):
    thread = new_id()
    asked = run_agent(chats, "asking", thread, "Hello")
    chats.http.close()
    chats.kill()
    chats.start()
    ended = run_agent(chats, "asking", thread, "Fine.")
    assert texts_of(ended) == ["Fine."]
    assert ended[1].snapshot["session"]["id"] == asked[1].snapshot["session"]["id"]


AGUI_CLIENT = """
import { HttpAgent } from "@ag-ui/client";
const [url] = process.argv.slice(1);
const agent = new HttpAgent({ url, threadId: crypto.randomUUID() });
agent.messages = [{ id: crypto.randomUUID(), role: "user", content: "Hello" }];
const first = [], second = [];
await agent.runAgent({}, { onEvent: ({ event }) => { first.push(event); } });
const interrupts = first.at(-1).outcome.interrupts;
const resume = interrupts.map((it) => ({ interruptId: it.id, status: "resolved", payload: "Fine." }));
await agent.runAgent({ resume }, { onEvent: ({ event }) => { second.push(event); } });
console.log(JSON.stringify({ end: second.at(-1), messages: agent.messages }));
"""
UI_CLIENT = """
import { DefaultChatTransport, readUIMessageStream } from "ai";
const [url] = process.argv.slice(1);
const transport = new DefaultChatTransport({ api: url });
const chatId = crypto.randomUUID(), messages = [], answers = [];
for (const text of ["Hello", "Fine."]) {
  messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
  const stream = await transport.sendMessages({ trigger: "submit-message", chatId, messages });
  let newest;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) newest = message;
  messages.push(newest);
  answers.push(newest);
}
console.log(JSON.stringify(answers));
"""


def run_node(package: str, script: str, *arguments: str) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    find_node_file(f"clients of {package}", f"{package}/package.json")
    done = subprocess.run(
        [node, "--input-type=module", "-e", script, *arguments],
        cwd=NODE_PACKAGES,
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_http_agent_of_ag_ui_runs_and_resumes(chats):
    answer = run_node("@ag-ui/client", AGUI_CLIENT, url(chats, "/agui/asking"))
    assert answer["end"]["outcome"] == {"type": "success"}
    assert answer["messages"][-1]["content"] == "Fine."
    assert answer["messages"][-1]["name"] == "ben"


def test_transport_of_the_ai_sdk_reads_the_stream(chats):
    first, second = run_node("ai", UI_CLIENT, url(chats, "/ui/asking"))
    (question,) = [part["data"] for part in first["parts"] if part["type"] == "data-question"]
    assert question["asked"] == ["ben"]
    (text,) = [part for part in second["parts"] if part["type"] == "text"]
    assert (text["text"], text["providerMetadata"]) == ("Fine.", {"symposia": {"speaker": "ben"}})
    assert text["state"] == "done"
