"""The mail server of a notice: its URL, encryption, and limits of time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from email.message import EmailMessage

import pytest

from servers.remote_system import RemoteSystem
from symposia.agents.people import PersonEntry
from symposia.agents.remote.mail_call import MailServer, send_message
from symposia.client.notices.message import Notice
from symposia.client.notices.senders import NoticeFailed, chat_target, mail_server, send_notice
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput, MailNotAnswered
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.turn import Expects, Question
from symposia.models.turns.waiting import Pending


@pytest.mark.parametrize(
    ("url", "security", "port", "login"),
    [
        ("smtp://us%40x:p%40ss@mail.example.com:2525", "starttls", 2525, ("us@x", "p@ss")),
        ("smtps://us:pass@mail.example.com", "tls", None, ("us", "pass")),
        ("smtp://localhost", "none", None, (None, None)),
        ("smtp://127.0.0.1:25", "none", 25, (None, None)),
    ],
)
def test_url_of_the_mail_server(
    monkeypatch: pytest.MonkeyPatch, url: str, security: str, port: int | None, login: tuple[str | None, ...]
) -> None:
    monkeypatch.setenv("NOTICES_SMTP_URL", url)
    server = mail_server(load_settings())
    assert (server.security, server.port, (server.username, server.password)) == (security, port, login)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mail.example.com",
        "http://us:secret-word@mail.example.com",
        "smtp://us@host",
        "smtp://us:secret-word@:1",
    ],
)
def test_wrong_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("NOTICES_SMTP_URL", url)
    with pytest.raises(InvalidInput, match=r"^NOTICES_SMTP_URL: must be set to a URL") as caught:
        mail_server(load_settings())
    assert "secret-word" not in str(caught.value)


def test_missing_variable_of_a_chat_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"^NO_SUCH_CHAT: must be set"):
        chat_target(PersonEntry(chat="NO_SUCH_CHAT"), load_settings())


@pytest.fixture
def chat() -> Iterator[RemoteSystem]:
    chat = RemoteSystem()
    yield chat
    chat.close()


@pytest.mark.parametrize(
    ("status", "may_have_arrived", "is_retryable"),
    [(429, False, True), (503, False, True), (404, False, False), (408, True, False), (502, True, False)],
)
def test_status_of_a_chat_says_whether_it_may_have_arrived(
    monkeypatch: pytest.MonkeyPatch,
    chat: RemoteSystem,
    status: int,
    may_have_arrived: bool,
    is_retryable: bool,
) -> None:
    monkeypatch.setenv("CHAT_ANN", chat.url)
    monkeypatch.setenv("SYMPOSIA_NOTICES_NETWORKS", "127.0.0.0/8")
    pending = Pending(
        session_id=new_id(),
        title="The letter",
        turn_number=1,
        participant="ann",
        asked=("ann",),
        question=Question(to="ann"),
        is_own=True,
        expects=Expects.MESSAGE,
        reply_token="token",
        asked_at=utcnow(),
    )
    chat.answers = [(status, {})]
    ann, notice = PersonEntry(chat="CHAT_ANN"), Notice(new_id(), "question", "ann", pending)
    with pytest.raises(NoticeFailed, match=f"answered HTTP {status}") as error:
        send_notice(notice, "chat", ann, load_settings(), on_connected=lambda: None)
    assert (error.value.may_have_arrived, error.value.is_retryable) == (may_have_arrived, is_retryable)


def test_silent_mail_server_ends_at_the_time_limit() -> None:
    connected: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        port = silent.getsockname()[1]
        server = MailServer("127.0.0.1", port=port, security="none", timeout_s=3_600, total_s=0.3)
        with pytest.raises(MailNotAnswered):
            send_message(server, EmailMessage(), on_connected=lambda: connected.append("yes"))
    assert connected == []
