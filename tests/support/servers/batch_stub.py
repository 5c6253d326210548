"""The model server with OpenAI's batch API: files and batches of requests to the Responses API.

A batch is in progress until `finish`, or ends at once with `ends_at_once`. Its requests get the server's answers in
their order; an answer with an error status is the error of that request alone.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from servers.model_stub import Answer, StubModel, _Handler, refusal, response


@dataclass
class StubBatch:
    """A batch as it was submitted."""

    id: str
    lines: list[dict[str, Any]]
    metadata: dict[str, str]
    status: str = "in_progress"
    output: list[dict[str, Any]] = field(default_factory=list)
    input_file: str = ""
    #: Code of the error with which the provider refused it.
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/responses",
            "input_file_id": self.input_file,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": f"out-{self.id}" if self.output else None,
            "created_at": int(time.time()),
            "metadata": self.metadata,
            "errors": {"object": "list", "data": [{"code": self.error, "message": "Too much."}]}
            if self.error
            else None,
            "request_counts": {"total": len(self.lines), "completed": 0, "failed": 0},
        }


class BatchStub(StubModel):
    """The server."""

    def __init__(self, *, ends_at_once: bool = False) -> None:
        self.ends_at_once = ends_at_once
        self.batches: list[StubBatch] = []
        self.files: dict[str, str] = {}
        #: Batches that are created without an answer to the client, as if its worker died meanwhile.
        self.lose_answers = 0
        #: The answer to the creation of a batch waits until this is set.
        self.gate: threading.Event | None = None
        #: Number of times the status of a batch was read.
        self.checks = 0
        self.lock = threading.RLock()
        super().__init__(_BatchHandler)

    def create(self, body: dict[str, Any]) -> StubBatch:
        with self.lock:
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
            batch = StubBatch(f"batch_{len(self.batches) + 1}", lines, body.get("metadata") or {})
            batch.input_file = body["input_file_id"]
            self.batches.append(batch)
            if self.ends_at_once:
                self.finish()
            return batch

    def finish(self, status: str = "completed") -> None:
        """End all batches in progress; those that expired or were cancelled have run no request."""
        with self.lock:
            for batch in self.batches:
                if batch.status == "in_progress":
                    batch.status = status
                    batch.output = [self._run(line) for line in batch.lines] if status == "completed" else []

    def _run(self, line: dict[str, Any]) -> dict[str, Any]:
        answer = self.next_answer(line["body"])
        result = {"status_code": answer.status, "body": response(answer.body)}
        return {"custom_id": line["custom_id"], "response": result, "error": None}

    def route(self, method: str, path: str, body: bytes) -> Answer | None:  # noqa: PLR0911 - one of each path
        """Return the answer to a request of the batch API; None: the client gets none."""
        with self.lock:
            match method, path.partition("?")[0].removeprefix("/v1/").split("/"):
                case "POST", ["files"]:
                    name = f"file-{len(self.files) + 1}"
                    (jsonl,) = re.findall(
                        rb'filename="batch.jsonl"\r\n.*?\r\n\r\n(.*?)\r\n--', body, re.DOTALL
                    )
                    self.files[name] = jsonl.decode()
                    return Answer(body={"id": name, "object": "file", "purpose": "batch"})
                case "POST", ["batches"]:
                    batch = self.create(json.loads(body))
                    self.lose_answers -= 1
                    return None if self.lose_answers >= 0 else Answer(body=batch.to_json(), gate=self.gate)
                case "POST", ["batches", batch_id, "cancel"]:
                    batch = self.find(batch_id)
                    batch.status = "cancelled" if batch.status == "in_progress" else batch.status
                    return Answer(body=batch.to_json())
                case "GET", ["batches"]:
                    page = [batch.to_json() for batch in reversed(self.batches)]
                    return Answer(body={"object": "list", "data": page, "has_more": False})
                case "GET", ["batches", batch_id]:
                    self.checks += 1
                    return Answer(body=self.find(batch_id).to_json())
                case "GET", ["files", name, "content"]:
                    if name in self.files:
                        return Answer(body=self.files[name])
                    output = self.find(name.removeprefix("out-")).output
                    return Answer(body="\n".join(map(json.dumps, output)))
        return refusal(404, f"unknown: {method} {path}")

    def find(self, batch_id: str) -> StubBatch:
        return next(batch for batch in self.batches if batch.id == batch_id)


class _BatchHandler(_Handler):
    def do_GET(self) -> None:  # noqa: N802
        self._route("GET", b"")

    def do_POST(self) -> None:  # noqa: N802
        if self.path.endswith("/responses"):
            super().do_POST()
        else:
            self._route("POST", self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _route(self, method: str, body: bytes) -> None:
        answer = self.stub.route(method, self.path, body)  # type: ignore[attr-defined]
        if answer is None:
            self.close_connection = True
            return
        if answer.gate:
            self.stub.wait(answer.gate)
        try:
            self._send(answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the worker was killed
