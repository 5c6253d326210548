"""A mail server on loopback (aiosmtpd) that keeps what it accepts."""

from __future__ import annotations

from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any, cast

from aiosmtpd.controller import Controller

from servers.ports import own_port


class SmtpSink:
    """Listens until `close`; `answers`: what the next messages are answered, instead of 250."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.answers: list[str] = []
        self._controller = Controller(self, hostname="127.0.0.1", port=own_port())
        self._controller.start()
        self.url = f"smtp://127.0.0.1:{self._controller.port}"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd calls it
        if self.answers:
            return self.answers.pop(0)
        self.mails.append(cast("EmailMessage", BytesParser(policy=default).parsebytes(envelope.content)))
        self.recipients.append(envelope.rcpt_tos)
        return "250 accepted"

    def to(self, address: str) -> list[EmailMessage]:
        return [
            mail
            for mail, recipients in zip(self.mails, self.recipients, strict=True)
            if address in recipients
        ]

    def close(self) -> None:
        self._controller.stop()
