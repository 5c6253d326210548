"""A chat gets the summary as code: no mention, no link, no format; and the URL is in no error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given

from review_tools.runs import evil_runs
from review_tools.values import a_finding, a_result, a_run
from servers.remote_system import RemoteSystem
from symposia.models.errors import DeliveryFailed
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.payload import ReportPayload
from symposia.reviews.delivery.senders import chat_text

PARCEL = ReportPayload(a_run(a_result(), findings=(a_finding(),)))


@pytest.fixture
def chat() -> Iterator[RemoteSystem]:
    it = RemoteSystem()
    yield it
    it.close()


def send(url: str, **more: object) -> None:
    entry = {"kind": "slack", "url_env": "CHAT_URL", "host": "127.0.0.1", "networks": ["127.0.0.0/8"]}
    file = DeliveriesFile.model_validate({"chat": {**entry, **more}})
    Destinations(file, getenv={"CHAT_URL": url}.get).deliver("chat", PARCEL)


def test_chat_gets_the_summary_as_code(chat):
    send(chat.url)
    (letter,) = chat.letters
    assert letter == {
        "text": "```\nReview of shop by code: 1 medium\n\n- app.py:3: medium F401: 'os' imported but unused\n```"
    }


@given(evil_runs())
def test_text_in_a_chat_stays_text(run):
    for app in ("slack", "mattermost"):
        text = chat_text(ReportPayload(run), app=app)
        assert re.fullmatch(r"```\n[^`]+\n```", text)
        assert len(text) < 8_000
    slack = chat_text(ReportPayload(run), app="slack")
    assert "<" not in slack
    assert not re.search("&(?!amp;|lt;|gt;)", slack)


def test_long_summary_is_cut():
    run = a_run(findings=tuple(a_finding(line=at, message="long " * 500) for at in range(1, 20)))
    text = chat_text(ReportPayload(run), app="mattermost")
    assert len(text) < 4_000
    assert text.endswith("\n…\n```")


@pytest.mark.parametrize(
    ("answer", "retryable", "after_s"),
    [((429, {"Retry-After": "9"}), True, 9), ((404, {}), False, None), ((500, {}), True, None)],
)
def test_refusal_of_a_chat_is_reported_without_the_url(chat, answer, retryable, after_s):
    chat.answers = [answer]
    with pytest.raises(DeliveryFailed, match=rf"^127\.0\.0\.1 answered HTTP {answer[0]}$") as error:
        send(chat.url)
    assert (error.value.retryable, error.value.retry_after_s) == (retryable, after_s)


@pytest.mark.parametrize(
    "url",
    ["https://evil.example/services/x", "file:///etc/passwd", "http://[::1", "x", "http://127.0.0.1/a b"],
)
def test_url_must_have_the_host_of_the_file(url):
    with pytest.raises(DeliveryFailed, match=r"CHAT_URL must hold a URL of 127\.0\.0\.1$") as error:
        send(url)
    assert not error.value.retryable
    assert json.dumps(url) not in str(error.value)
