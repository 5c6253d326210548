"""An HTTP server of a JSON API: routes, a token, pages, and answers that a test puts in front."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

TOKEN = "ghp_a-token-of-the-test"
Answer = tuple[int, Any]
Route = tuple[str, str, Callable[..., Answer]]


class Refused(Exception):
    """Answers a request with a status and a body."""

    def __init__(self, status: int, data: Any) -> None:
        super().__init__(status)
        self.status, self.data = status, data


def paged(items: list[Any], query: Mapping[str, str]) -> list[Any]:
    """One page, as both hosts do it: at most 100 elements."""
    size, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
    return items[(page - 1) * size : page * size]


class JsonServer:
    """Answers each request by its route, after the answers that a test has put in front."""

    prefix = ""
    unauthorized: ClassVar[dict[str, str]] = {"message": "Bad credentials"}
    not_found: ClassVar[dict[str, str]] = {"message": "Not Found"}

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        #: The next answers to requests of this method: status, headers, body.
        self.in_front: dict[str, list[tuple[int, dict[str, str], Any]]] = {}
        #: Called after a change is stored and before it is answered, with the number of changes.
        self.stored: Callable[[int], None] = lambda _: None
        self.changes = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, headers, data = server.handle(
                    self.command, self.path, self.headers.get("Authorization", ""), body
                )
                sent = b"" if data is None else json.dumps(data).encode()
                with suppress(ConnectionError):  # the test may have killed the other side
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(sent)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(sent)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer  # noqa: N815 - names of the library

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{self.prefix}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def routes(self) -> list[Route]:
        """Method, pattern of the path, and the function that answers."""
        raise NotImplementedError

    def handle(
        self, method: str, target: str, authorization: str, body: Any
    ) -> tuple[int, dict[str, str], Any]:
        parts = urlsplit(target)
        path = unquote(parts.path)
        with self._lock:
            self.requests.append((method, target, body))
            if self.in_front.get(method):
                return self.in_front[method].pop(0)
            if authorization != f"Bearer {TOKEN}":
                return 401, {}, self.unauthorized
            try:
                status, data = self._route(method, path, dict(parse_qsl(parts.query)), body)
            except Refused as refused:
                return refused.status, {}, refused.data
            return status, {}, data

    def _route(self, method: str, path: str, query: dict[str, str], body: Any) -> Answer:
        for verb, pattern, answer in self.routes():
            if verb == method and (found := re.fullmatch(self.prefix + pattern, path)):
                return answer(*found.groups(), query=query, body=body)
        return 404, self.not_found

    def changed(self) -> None:
        """Count a change, and let the test act before it is answered."""
        self.changes += 1
        self.stored(self.changes)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Requests that may have changed something."""
        return [
            (method, target)
            for method, target, body in self.requests
            if method != "GET" and not str((body or {}).get("query", "")).startswith("query")
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def hunk_lines(patch: str, side: str = "RIGHT") -> dict[int, tuple[int, int | None, str]]:
    """Lines of the new (LEFT: old) file by number: hunk, number in the other file (None: in one only), text."""
    mine = "+" if side == "RIGHT" else "-"
    lines: dict[int, tuple[int, int | None, str]] = {}
    old = new = hunk = 0
    for line in patch.split("\n"):
        header = re.match(r"@@ -(\d+),?\d* \+(\d+),?\d* @@", line)
        if header:
            old, new, hunk = int(header[1]), int(header[2]), hunk + 1
            continue
        if line[:1] and line[0] in (mine, " "):
            at, other = (new, old) if side == "RIGHT" else (old, new)
            lines[at] = (hunk, None if line[0] == mine else other, line[1:])
        old, new = old + (line[:1] in ("-", " ")), new + (line[:1] in ("+", " "))
    return lines
