"""A real HTTP server that speaks as much of the OpenAI protocol as a model client needs, and errs on demand."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field
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


def completion(text: str = "", *, tool: tuple[str, dict[str, Any]] | None = None) -> Answer:
    """A chat completion that says `text`, or calls a tool with these arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool:
        function = {"name": tool[0], "arguments": json.dumps(tool[1])}
        message |= {
            "content": None,
            "tool_calls": [{"id": "call-1", "type": "function", "function": function}],
        }
    return Answer(
        body={
            "id": "completion-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "stub-model",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    )


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

    @property
    def messages(self) -> list[tuple[str, str]]:
        return [(message["role"], message["content"]) for message in self.body["messages"]]


class StubModel:
    """The server. It gives its answers in order, the last one for good, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: deque[Answer] = deque([completion("Well said.")])
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

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

    def _next(self) -> Answer:
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]

    def _wait(self, gate: threading.Event) -> None:
        while not gate.wait(0.02) and not self._stopping.is_set():
            pass

    def _handler(stub) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's below
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length))
                headers = {name.lower(): value for name, value in self.headers.items()}
                stub.asked.append(Asked(body, headers, self.client_address))
                answer = stub._next()
                if answer.gate:
                    stub._wait(answer.gate)
                self._send(answer)

            def _send(self, answer: Answer) -> None:
                text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                try:
                    self.wfile.write(text.encode())
                except (BrokenPipeError, ConnectionResetError):
                    return  # the client gave up, as some tests have it do

            def log_message(self, *_: object) -> None:
                return

        return Handler
