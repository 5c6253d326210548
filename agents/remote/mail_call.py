"""E-mail over SMTP to the server that an operator names (RFC 5321, RFC 3207, RFC 8314), with limits of time."""

from __future__ import annotations

import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

from ...models.errors import AgentFailed, MailNotAnswered
from ..execution.failures import scrub_text
from .http_call import connect_before, cut_after, with_timeout

#: `starttls`: the connection is encrypted before any message; `tls`: from its beginning; `none`: not at all.
Security = Literal["starttls", "tls", "none"]
PORTS = {"starttls": 587, "tls": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server, with the login."""

    host: str
    #: None: the usual one of the kind of connection.
    port: int | None = None
    security: Security = "starttls"
    username: str | None = None
    password: str | None = None
    #: File of certificates to trust instead of the system's.
    ca_file: Path | None = None
    #: Maximum seconds of the DNS look-up, of the connection, and of each step of the conversation.
    timeout_s: float = 30
    #: Maximum seconds of the whole; None: no limit.
    total_s: float | None = None


def send_message(
    server: MailServer, mail: EmailMessage, *, on_connected: Callable[[], object] | None = None
) -> None:
    """Send a message; return when the server has accepted it for all recipients.

    Args:
        server: The server.
        mail: The message.
        on_connected: Called after the login, before the message is sent; what it raises ends the call.

    Raises:
        MailNotAnswered: There is no answer; before `on_connected` is called, no message was sent.
        AgentFailed: The server has not accepted it; `retryable` says whether a retry may succeed.
    """
    with _describing_errors(server), mail_connection(server) as connection:
        if on_connected is not None:
            on_connected()
        refused = connection.send_message(mail)
        with suppress(OSError, smtplib.SMTPException):  # the message is accepted, whatever the answer is
            connection.quit()
    if refused:  # a retry would send it twice to the other recipients
        raise _refusal(server, len(refused), retryable=False)


def check_login(server: MailServer) -> None:
    """Connect and log in, without sending anything. Raises as `send_message`."""
    with _describing_errors(server), mail_connection(server) as connection:
        connection.noop()


@contextmanager
def mail_connection(server: MailServer) -> Iterator[smtplib.SMTP]:
    """Yield a connection after the login. Raises OSError, SMTPException."""
    connection = _Connection(server)
    limit = nullcontext() if server.total_s is None else cut_after(connection, server.total_s)
    try:
        with limit:
            connection.connect(server.host, server.port or PORTS[server.security])
            if server.security == "starttls":
                connection.starttls(context=_context(server))
            if server.username and server.password:
                connection.login(server.username, server.password)
            yield connection
    finally:
        connection.close()


class _Connection(smtplib.SMTP):
    """A connection whose look-up and connection have a limit of time."""

    def __init__(self, server: MailServer) -> None:
        super().__init__(timeout=server.timeout_s)
        self._server = server
        self._host = server.host  # the name of the certificate

    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        until = time.monotonic() + float(timeout)
        entries = with_timeout(float(timeout), socket.getaddrinfo)(host, port, type=socket.SOCK_STREAM)
        plain = connect_before([(str(entry[4][0]), port) for entry in entries], until)
        plain.settimeout(float(timeout))
        if self._server.security != "tls":
            return plain
        return _context(self._server).wrap_socket(plain, server_hostname=host)


def _context(server: MailServer) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=server.ca_file)


@contextmanager
def _describing_errors(server: MailServer) -> Iterator[None]:
    """Turn the errors of a conversation into AgentFailed, without the password."""
    secrets, host = [server.password] if server.password else [], server.host
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        is_for_now = all(400 <= code < 500 for code, _ in error.recipients.values())
        raise _refusal(server, len(error.recipients), retryable=is_for_now) from None
    except smtplib.SMTPResponseException as error:
        answer = error.smtp_error
        text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
        # 4yz is transient, 5yz permanent (RFC 5321, 4.2.1); -1: the line is no answer.
        kind = AgentFailed if error.smtp_code > 0 else MailNotAnswered
        raise kind(
            f"{host} answered SMTP {error.smtp_code}: {scrub_text(text, secrets=secrets)}",
            retryable=400 <= error.smtp_code < 500,
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise AgentFailed(
            f"{host} does not support a required SMTP extension: {error}", retryable=False
        ) from None
    except ssl.SSLCertVerificationError as error:
        raise AgentFailed(
            f"TLS certificate of {host} is not trusted: {error.verify_message}", retryable=False
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        text = scrub_text(str(error), secrets=secrets) or type(error).__name__
        raise MailNotAnswered(f"{host} does not answer: {text}") from None


def _refusal(server: MailServer, number: int, *, retryable: bool) -> AgentFailed:
    """Return the error without the names of recipients, because its message may be read by others."""
    return AgentFailed(f"{server.host} refused {number} of the recipients", retryable=retryable)
