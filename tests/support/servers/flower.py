"""A real Flower process with the dashboard, and a browser-like client of it."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import psutil

from live import SUPPORT, until
from processes.flower import IMPORTED
from processes.fork_server import ForkedProcess, start_module
from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_with_parent

#: The command as a person types it.
COMMAND = (str(Path(sys.executable).with_name("symposia")), "flower")


@dataclass(frozen=True)
class Answer:
    """An answer of Flower."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        assert self.headers.get("content-type", "").startswith("application/json"), self
        return json.loads(self.text)


@dataclass
class FlowerServer:
    """A Flower process on a free port of this machine."""

    folder: Path
    #: Settings of Symposia by name, such as `redis_url`.
    settings: Mapping[str, str]
    #: Further environment variables, such as FLOWER_BASIC_AUTH.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: The command before its options; None: `symposia flower` as a fork of a process that has imported its code.
    program: Sequence[str] | None = None
    options: Sequence[str] = ()
    prefix: str = ""
    #: `user:password` that every request has; empty: none.
    credentials: str = ""
    port: int = field(default_factory=own_port)

    def start(self) -> FlowerServer:
        chosen = {f"SYMPOSIA_{name.upper()}": value for name, value in self.settings.items()}
        self.log_file = self.folder / f"flower-{self.port}.log"
        environment = {**os.environ, **chosen, **self.environment, "PYTHONPATH": str(SUPPORT)}
        options = [f"--port={self.port}", *self.options]
        self.process: subprocess.Popen[bytes] | ForkedProcess
        with self.log_file.open("ab") as output:
            if self.program is None:
                self.process = start_module(
                    "processes.flower",
                    options,
                    env=environment,
                    cwd=self.folder,
                    output=output,
                    imported=IMPORTED,
                )
            else:
                self.process = subprocess.Popen(
                    end_with_parent([*self.program, *options], signal.SIGKILL),
                    env=environment,
                    cwd=self.folder,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        until(self._answers, what="Flower answers")
        return self

    def stop(self) -> None:
        """Ends it as a person does, and waits for its end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patient(5))
        self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(patient(10))

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    def listens_on(self) -> set[str]:
        """Returns the addresses on which it accepts connections."""
        connections = psutil.Process(self.process.pid).net_connections(kind="tcp")
        return {it.laddr.ip for it in connections if it.status == psutil.CONN_LISTEN}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return self.request(
            "POST", path, {"Content_Type": "application/json", **headers}, json.dumps(body or {})
        )

    def json(self, path: str, **headers: str) -> Any:
        answer = self.get(path, **headers)
        assert answer.status == 200, (answer, self.log())
        return answer.json()

    def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Answer:
        """`headers`: underscores become dashes."""
        with self.opened(method, path, headers, body) as response:
            return Answer(response.status, _headers(response), response.read().decode())

    @contextmanager
    def opened(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Iterator[HTTPResponse]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=patient(30))
        user = basic(self.credentials) if self.credentials else {}
        sent = user | {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        try:
            connection.request(method, self.prefix + path, body=body, headers=sent)
            response = connection.getresponse()
            yield response
        finally:
            connection.close()

    @contextmanager
    def stream(self, path: str, *, with_health: bool = False, **headers: str) -> Iterator[EventStream]:
        """The events of a live stream; `with_health`: also the state of the data, which comes again and again."""
        with self.opened("GET", path, headers) as response:
            yield EventStream(response, with_health=with_health)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log()
        with suppress(OSError):
            return self.get("/healthcheck").status == 200
        return False


@dataclass(frozen=True)
class SentEvent:
    """A server-sent event."""

    id: str | None
    kind: str
    data: Any


class EventStream:
    """The events of one connection, as they arrive."""

    def __init__(self, response: HTTPResponse, *, with_health: bool = False) -> None:
        self.status = response.status
        self._with_health = with_health
        self.headers = _headers(response)
        self._response = response

    def __iter__(self) -> Iterator[SentEvent]:
        fields: dict[str, str] = {}
        while line := self._response.readline():
            text = line.decode().rstrip("\n")
            if text:
                name, _, value = text.partition(":")
                fields[name] = value.removeprefix(" ")
                continue
            if "data" in fields and (self._with_health or fields.get("event") != "health"):
                yield SentEvent(fields.get("id"), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}

    def until(self, wanted: Any) -> SentEvent:
        """The first event that fits; the connection's timeout bounds the wait."""
        for event in self:
            if wanted(event):
                return event
        raise AssertionError("the stream has ended")


def basic(credentials: str) -> dict[str, str]:
    """The header of basic authentication for `user:password`."""
    return {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}


def action_headers(flower: FlowerServer, credentials: str, page: str = "/collabs") -> dict[str, str]:
    """The headers with which a page of Flower performs an action: its user, token and origin."""
    answer = flower.get(page, **basic(credentials))
    token = re.search(r'data-token="([^"]+)"', answer.text)
    assert token, answer
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return {
        **basic(credentials),
        "Cookie": cookie,
        "X_XSRFToken": token[1],
        "Origin": f"http://127.0.0.1:{flower.port}",
        "Sec_Fetch_Site": "same-origin",
    }


def _headers(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}
