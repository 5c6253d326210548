"""A mail server on loopback: speaks SMTP over TLS, from the beginning or once asked to, and keeps what it is sent."""

from __future__ import annotations

import base64
import socket
import socketserver
import ssl
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import cast

from servers.tls import HOST


@dataclass(frozen=True, slots=True)
class Sent:
    """One message, as it was handed over."""

    sender: str
    to: tuple[str, ...]
    mail: EmailMessage
    was_encrypted: bool
    #: The name and the password that were given.
    login: tuple[str, str] | None


@dataclass
class Envelope:
    sender: str = ""
    to: list[str] = field(default_factory=list)


class _Conversation(socketserver.BaseRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._login: tuple[str, str] | None = None
        with ExitStack() as self._opened, suppress(OSError):  # a client that trusts nobody hangs up
            self._connection: socket.socket = self.request
            self._is_encrypted = False
            if self.server.begins_encrypted:
                self._encrypt()
            self._lines = self._opened.enter_context(self._connection.makefile("rb"))
            self._talk()

    def _talk(self) -> None:
        self._say("220 mail.example.com")
        envelope = Envelope()
        while line := self._lines.readline(1_000).decode().strip():
            verb, _, rest = line.partition(" ")
            self.server.heard.append(verb.upper())
            if refusal := self.server.refusals.get(verb.upper()):
                self._say(refusal.pop(0) if len(refusal) > 1 else refusal[0])
                continue
            match verb.upper():
                case "EHLO":
                    self._say(*self._greeting())
                case "STARTTLS":
                    self._say("220 go ahead")
                    self._encrypt()
                case "AUTH":
                    _, name, password = base64.b64decode(rest.split()[-1]).decode().split("\0")
                    self._login = name, password
                    self._say("235 welcome")
                case "MAIL":
                    envelope = Envelope(sender=_address(rest))
                    self._say("250 fine")
                case "RCPT":
                    self._take(envelope, _address(rest))
                case "DATA":
                    self._receive(envelope)
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 fine")

    def _greeting(self) -> list[str]:
        offers = ["AUTH PLAIN"] if self._is_encrypted else ["STARTTLS"] * self.server.offers_tls
        return [*(f"250-{it}" for it in ["mail.example.com", *offers]), "250 SIZE 10000000"]

    def _encrypt(self) -> None:
        encrypted = self.server.context.wrap_socket(self._connection, server_side=True)
        self._connection = self._opened.enter_context(encrypted)
        self._lines = self._opened.enter_context(encrypted.makefile("rb"))
        self._is_encrypted = True

    def _take(self, envelope: Envelope, address: str) -> None:
        if address in self.server.unknown:
            self._say(f"{self.server.unknown[address]} nobody")
            return
        envelope.to.append(address)
        self._say("250 fine")

    def _receive(self, envelope: Envelope) -> None:
        self._say("354 go ahead")
        lines = []
        while (line := self._lines.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = cast(EmailMessage, message_from_bytes(b"".join(lines), policy=policy.default))
        sent = Sent(envelope.sender, tuple(envelope.to), mail, self._is_encrypted, self._login)
        self.server.sent.append(sent)
        self._say("250 taken")

    def _say(self, *lines: str) -> None:
        self._connection.sendall("".join(f"{line}\r\n" for line in lines).encode())


def _address(rest: str) -> str:
    return rest[rest.index("<") + 1 : rest.index(">")]


class MailServer(socketserver.ThreadingTCPServer):
    """Listens on loopback until it is closed."""

    def __init__(
        self, made: Path, key: Path, *, begins_encrypted: bool = False, offers_tls: bool = True
    ) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(made, key)
        self.begins_encrypted = begins_encrypted
        self.offers_tls = offers_tls
        self.sent: list[Sent] = []
        #: Verbs, in the order in which they came.
        self.heard: list[str] = []
        #: What a verb is answered instead, one after the other; the last of them for good.
        self.refusals: dict[str, list[str]] = {}
        #: Addresses that nobody has, with the code that says so.
        self.unknown: dict[str, int] = {}
        super().__init__((HOST, 0), _Conversation)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()
