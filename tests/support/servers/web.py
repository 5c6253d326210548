"""A real `symposia serve` process, and a client of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from live import until
from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_process, end_with_parent

COMMAND = (str(Path(sys.executable).with_name("symposia")), "serve")


@dataclass(frozen=True)
class ServerSentEvent:
    """An event of a stream."""

    event: str
    data: Any
    id: str | None = None


def read_events(lines: Iterator[str]) -> Iterator[ServerSentEvent]:
    """Yield the events of the lines of a stream."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line:
            if "data" in fields:
                yield ServerSentEvent(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


@dataclass
class WebServer:
    """A server process on a free port of this machine."""

    folder: Path
    #: Settings of Symposia by name, such as `redis_url`.
    settings: Mapping[str, str]
    options: Sequence[str] = ("--no-auth",)
    port: int = field(default_factory=own_port)

    def start(self) -> WebServer:
        chosen = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in self.settings.items()}
        self.log_file = self.folder / f"web-{self.port}.log"
        with self.log_file.open("ab") as output:
            self.process = subprocess.Popen(
                end_with_parent([*COMMAND, f"--port={self.port}", *self.options], signal.SIGKILL),
                env={**os.environ, **chosen},
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/v1", timeout=patient(30))
        until(self._answers, what="the server answers")
        return self

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log_file.read_text()
        with suppress(httpx.TransportError):
            self.http.get("/openapi.json")
            return True
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.http.close()
        end_process(self.process, timeout_s=patient(10))

    def get(self, path: str, **params: Any) -> Any:
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Mapping[str, Any], *, status: int = 200) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def submit(self, **body: Any) -> str:
        """Submit a session; return its id."""
        return str(self.post("/sessions", body, status=201)["id"])

    def events(
        self, session_id: str, *, after: str | None = None, **params: Any
    ) -> Iterator[ServerSentEvent]:
        """Follow a session until the stream ends."""
        headers = {} if after is None else {"Last-Event-ID": after}
        with self.http.stream(
            "GET", f"/sessions/{session_id}/events", params=params, headers=headers
        ) as answer:
            if answer.status_code != 200:
                raise AssertionError(answer.read().decode())
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield from read_events(answer.iter_lines())
