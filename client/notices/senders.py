"""Senders of notices: by e-mail, and to an incoming webhook of a chat."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ...agents.people import PersonEntry
from ...agents.remote.http_call import HttpTarget, http_call
from ...agents.remote.mail_call import MailServer, Security, check_login, send_message
from ...config.settings import Settings, read_variable
from ...models.errors import AgentError, AgentFailed, InvalidInput, MailNotAnswered
from ...models.sessions.on_end import split_url
from .message import Notice, build_mail, chat_body

#: Maximum seconds of one notice: look-up, connection, login and message.
TIMEOUT_S = 30.0
_SCHEMES = ("smtp", "smtps")
#: Status codes of a chat that has not accepted a message and may accept it later. After 408 and other codes from 500 on,
#: a gateway may have passed the message on.
_BUSY_STATUSES = frozenset({425, 429, 503})


class NoticeFailed(Exception):
    """A notice was not accepted, or there is no answer.

    Attributes:
        may_have_arrived: Whether it may have been accepted.
        is_retryable: Whether another attempt may succeed and cannot send it twice.
        retry_after_s: Seconds that the host wants to wait before.
    """

    def __init__(self, error: AgentError, *, may_have_arrived: bool) -> None:
        doubt = "; it may have arrived" if may_have_arrived else ""
        super().__init__(f"{error}{doubt}")
        self.may_have_arrived = may_have_arrived
        self.is_retryable = error.retryable and not may_have_arrived
        self.retry_after_s = error.retry_after_s or 0.0


def mail_server(settings: Settings) -> MailServer:
    """Return the mail server of the variable that the settings name.

    Raises:
        InvalidInput: The variable is not set, or its URL breaks a rule. The error does not contain the URL.
    """
    name = settings.notices_smtp_url_env
    rule = "must be set to a URL such as smtp://user:password@host:587 or smtps://user:password@host"
    try:
        parts = urlsplit(read_variable(name) or "")
        port, options = parts.port, dict(parse_qsl(parts.query))
    except ValueError:
        raise InvalidInput(name, None, rule) from None
    has_login = (parts.username is None) == (parts.password is None)
    if (
        parts.scheme not in _SCHEMES
        or not parts.hostname
        or parts.path.strip("/")
        or not has_login
        or options.keys() - {"ca_file"}
    ):
        raise InvalidInput(name, None, rule)
    security: Security = "tls" if parts.scheme == "smtps" else "starttls"
    if security == "starttls" and _is_loopback(parts.hostname):
        security = "none"
    return MailServer(
        host=parts.hostname,
        port=port,
        security=security,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        ca_file=Path(options["ca_file"]).expanduser() if "ca_file" in options else None,
        timeout_s=TIMEOUT_S / 2,
        total_s=TIMEOUT_S,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_mail(settings: Settings) -> None:
    """Connect to the mail server and log in. Raises InvalidInput, AgentFailed."""
    check_login(mail_server(settings))


def chat_target(person: PersonEntry, settings: Settings) -> HttpTarget:
    """Return the webhook of a person. Raises InvalidInput without the URL, which is secret."""
    name = str(person.chat)
    url = read_variable(name) or ""
    if split_url(url) is None:
        raise InvalidInput(name, None, "must be set to the http or https URL of an incoming webhook")
    return HttpTarget(url, TIMEOUT_S, tuple(map(ip_network, settings.notices_networks)))


def send_notice(
    notice: Notice,
    channel: str,
    person: PersonEntry,
    settings: Settings,
    *,
    on_connected: Callable[[], object],
) -> None:
    """Send a notice; return when it is accepted.

    Args:
        notice: The notice.
        channel: `email` or `chat`.
        person: Addresses of the person.
        settings: The settings.
        on_connected: Called before anything of the notice is sent; what it raises ends the attempt.

    Raises:
        NoticeFailed: It was not accepted, or there is no answer.
        InvalidInput: A variable or a setting is missing.
    """
    is_connected = False

    def connected() -> None:
        nonlocal is_connected
        on_connected()
        is_connected = True

    try:
        if channel == "email":
            _send_mail(notice, person, settings, connected)
        else:
            _post_to_chat(notice, person, settings, connected)
    except MailNotAnswered as error:
        raise NoticeFailed(error, may_have_arrived=is_connected) from None
    except AgentFailed as error:
        raise NoticeFailed(error, may_have_arrived=is_connected and channel == "chat") from None


def _send_mail(
    notice: Notice, person: PersonEntry, settings: Settings, connected: Callable[[], None]
) -> None:
    if settings.notices_from is None:
        raise InvalidInput("notices_from", None, "must be set: the sender of e-mails to people")
    mail = build_mail(notice, sender=settings.notices_from, to=str(person.email))
    send_message(mail_server(settings), mail, on_connected=connected)


def _post_to_chat(
    notice: Notice, person: PersonEntry, settings: Settings, connected: Callable[[], None]
) -> None:
    target = chat_target(person, settings)
    headers = {"Content-Type": "application/json"}
    answer = http_call(target, "POST", headers, body=chat_body(notice), on_connected=connected)
    if answer.is_success:
        return
    is_busy = answer.status in _BUSY_STATUSES
    refusal = AgentFailed(
        f"{urlsplit(target.url).hostname} answered HTTP {answer.status}",
        retryable=is_busy,
        retry_after_s=answer.retry_after_s,
    )
    raise NoticeFailed(refusal, may_have_arrived=answer.is_transient and not is_busy)
