"""A real HTTP server that speaks as much of the OpenAI protocol as a model client needs, and errs on demand.

What it was asked it counts and keeps. A request that asks for a stream gets its words one by one.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Answer:
    """What the server does with one request."""

    status: int = 200
    body: dict[str, Any] | str = ""
    headers: dict[str, str] = field(default_factory=dict)
    #: Waits until this is set (or the server stops) before it answers.
    gate: threading.Event | None = None
    #: The same in the middle of its answer: behind half of a body, or behind so many words of a stream.
    pause: threading.Event | None = None
    pause_after: int = 1
    #: Cuts the connection there instead.
    cut: bool = False
    #: Ends a stream there as if that were all, as some proxies do.
    ends_early: bool = False


def completion(
    text: str = "",
    *,
    tool: tuple[str, dict[str, Any]] | None = None,
    call: str = "call-1",
    cached: int = 0,
    **more: Any,
) -> Answer:
    """Build a chat completion with `text`, or a tool call with these arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool:
        function = {"name": tool[0], "arguments": json.dumps(tool[1])}
        message |= {
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        }
    body = {
        "id": "completion-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "stub-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    return Answer(body=body, **more)


def refusal(status: int, message: str, *, code: str | None = None, **headers: str) -> Answer:
    """An error in the provider's form."""
    return Answer(status, {"error": {"message": message, "type": "error", "code": code}}, headers)


@dataclass
class Asked:
    """One request as it arrived."""

    body: dict[str, Any]
    headers: dict[str, str]
    #: The client's side of the connection it came over.
    peer: tuple[str, int]
    path: str = ""

    @property
    def messages(self) -> list[tuple[str, str]]:
        return [(message["role"], message["content"]) for message in self.body["messages"]]


class StubModel:
    """The server. It gives its answers in order, the last one for good, and keeps what it was asked."""

    def __init__(self, handler: type[BaseHTTPRequestHandler] | None = None) -> None:
        self.reset()
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler or _Handler)
        self._server.stub = self  # type: ignore[attr-defined]
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def reset(self) -> None:
        """As if it had been asked nothing."""
        self.asked: list[Asked] = []
        self._answers: deque[Answer] = deque([completion("Well said.")])

    def answers(self, *answers: Answer) -> Self:
        self._answers = deque(answers)
        return self

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_answer(self, _body: dict[str, Any]) -> Answer:
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]

    def wait(self, gate: threading.Event) -> None:
        while not gate.wait(0.02) and not self._stopping.is_set():
            pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def stub(self) -> StubModel:
        return self.server.stub  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.stub.asked.append(Asked(body, headers, self.client_address, self.path))
        answer = self.stub.next_answer(body)
        parts, end = chunks, "data: [DONE]\n\n"
        if self.path.endswith("/responses"):
            answer = replace(answer, body=response(answer.body))
            parts, end = response_events, ""
        if answer.gate:
            self.stub.wait(answer.gate)
        says_something = isinstance(answer.body, dict) and bool({"choices", "output"} & answer.body.keys())
        try:
            if body.get("stream") and says_something:
                self._stream(answer, parts(answer.body), end)
            else:
                self._send(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as some tests have it do

    def _send(self, answer: Answer) -> None:
        data = (answer.body if isinstance(answer.body, str) else json.dumps(answer.body)).encode()
        self._head(answer, {"content-type": "application/json", "content-length": str(len(data))})
        half = len(data) // 2 if answer.pause or answer.cut else len(data)
        self.wfile.write(data[:half])
        if self._goes_on(answer):
            self.wfile.write(data[half:])

    def _stream(self, answer: Answer, parts: Iterator[dict[str, Any]], end: str) -> None:
        self._head(answer, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for number, chunk in enumerate(parts):
            if number == answer.pause_after and answer.ends_early:
                break
            if number == answer.pause_after and not self._goes_on(answer):
                return
            self._chunk(f"data: {json.dumps(chunk)}\n\n")
        else:
            if end:
                self._chunk(end)
        self._chunk("")

    def _chunk(self, text: str) -> None:
        """A part of a chunked body; an empty one ends it."""
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _goes_on(self, answer: Answer) -> bool:
        self.wfile.flush()
        if answer.pause:
            self.stub.wait(answer.pause)
        if answer.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        return not answer.cut

    def _head(self, answer: Answer, headers: dict[str, str]) -> None:
        self.send_response(answer.status)
        own = {name.replace("_", "-"): value for name, value in answer.headers.items()}
        for name, value in (headers | own).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


def chunks(body: Any) -> Iterator[dict[str, Any]]:
    """A completion as a stream: a chunk a word, then how it ended, then what it cost."""
    choice, message = body["choices"][0], body["choices"][0]["message"]
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    pieces: list[dict[str, Any]] = []
    if message.get("tool_calls"):
        calls = [{**call, "index": at} for at, call in enumerate(message["tool_calls"])]
        pieces = [{"role": "assistant", "content": None, "tool_calls": calls}]
    else:
        words = (message["content"] or "").split(" ")
        pieces = [
            {"role": "assistant", "content": word if at == 0 else f" {word}"} for at, word in enumerate(words)
        ]
    for delta in pieces:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": body["usage"]}


def response_events(body: Any) -> Iterator[dict[str, Any]]:
    """A response as a stream: an event a word of its text, or one for its call, then the whole of it."""
    (item,) = body["output"]
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    begun = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
    events = [
        ("response.created", {"response": {**body, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": begun}),
    ]
    if "content" in item:
        (part,) = item["content"]
        events.append(("response.content_part.added", {**at, "part": {**part, "text": ""}}))
        words = part["text"].split(" ")
        deltas = (words[0], *(f" {it}" for it in words[1:]))
        events += [("response.output_text.delta", {**at, "delta": it, "logprobs": []}) for it in deltas]
    else:
        events.append(("response.function_call_arguments.delta", {**at, "delta": item["arguments"]}))
    events += [
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": body}),
    ]
    for number, (kind, data) in enumerate(events):
        yield {"type": kind, "sequence_number": number, **data}


def response(body: Any) -> dict[str, Any]:
    """A completion, or an error, as the Responses API has it."""
    if "choices" not in body:
        return body
    message, usage = body["choices"][0]["message"], body["usage"]
    text = {"type": "output_text", "text": message["content"], "annotations": []}
    said = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    calls = [
        {
            "id": it["id"],
            "call_id": it["id"],
            "type": "function_call",
            "status": "completed",
            **it["function"],
        }
        for it in message.get("tool_calls", ())
    ]
    return {
        "id": body["id"],
        "object": "response",
        "created_at": body["created"],
        "status": "completed",
        "model": body["model"],
        "output": calls or [said],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": usage["prompt_tokens_details"],
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }
