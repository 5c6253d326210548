"""An OAuth server on loopback with the addresses of Okta: every visitor is logged in at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

CODE, TOKEN, SECRET = "code-of-one-login", "token-of-one-login", "secret-of-flower"


class OAuthServer:
    """The server. `email`: the address of the next user who logs in."""

    def __init__(self) -> None:
        self.email = "ann@example.com"
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                if address.path == "/v1/authorize":
                    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
                    answer = urlencode({"code": CODE, "state": asked["state"]})
                    self.send_response(302)
                    self.send_header("Location", f"{asked['redirect_uri']}?{answer}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                elif address.path == "/v1/userinfo" and self.headers["Authorization"] == f"Bearer {TOKEN}":
                    self.send({"email": server.email, "email_verified": True})
                else:
                    self.send_error(403)

            def do_POST(self) -> None:
                sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                if sent.get("code") == [CODE] and sent.get("client_secret") == [SECRET]:
                    self.send({"access_token": TOKEN, "token_type": "Bearer"})
                else:
                    self.send_error(403)

            def send(self, data: object) -> None:
                body = json.dumps(data).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator[OAuthServer]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
