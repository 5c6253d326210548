"""A remote system on loopback: receives deliveries and signs callbacks."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from scaling import patient
from symposia.agents.remote.webhook import signed_headers

SECRET = "whsec_c3ltcG9zaWE="


class RemoteSystem:
    """Listens on an address; answers each delivery with the next status it was given, then with 200."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.deliveries: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        #: Seconds between two bytes of an answer.
        self.drip_s = 0.0
        #: Called with each delivery before it is answered.
        self.heard: Callable[[dict[str, Any]], None] = lambda _: None
        system = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                system.deliveries.append(({name.lower(): it for name, it in self.headers.items()}, body))
                system.heard(json.loads(body) if body.startswith(b"{") else {})
                if system.drip_s:
                    self._drip()
                    return
                status, headers = system.answers.pop(0) if system.answers else (200, {})
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def _drip(self) -> None:
                try:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
                    for byte in b"x" * 10_000:
                        self.wfile.write(bytes([byte]))
                        time.sleep(system.drip_s)
                except OSError:
                    pass  # the other side has hung up

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_port}/turns"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def letters(self) -> list[dict[str, Any]]:
        """What was delivered."""
        return [json.loads(body) for _, body in self.deliveries]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def call(
    url: str,
    letter: dict[str, Any],
    text: str,
    *,
    secret: str = SECRET,
    age_s: int = 0,
    headers: dict[str, str] | None = None,
    **changes: Any,
) -> tuple[int, dict[str, str]]:
    """Answers a delivery over HTTP; gives back status and body."""
    fields = {name: letter[name] for name in ("session_id", "turn_number", "participant", "reply_token")}
    return post(url, {**fields, "text": text, **changes}, secret=secret, age_s=age_s, headers=headers)


def post(
    url: str, data: object, *, secret: str = SECRET, age_s: int = 0, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str]]:
    """Posts something signed; `headers` go before the signed ones."""
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    signed = signed_headers(secret, str(uuid4()), body, now_s=int(time.time()) - age_s)
    request = urllib.request.Request(url, body, {**signed, **(headers or {})}, method="POST")  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=patient(20)) as response:  # noqa: S310 - loopback
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"{}")
