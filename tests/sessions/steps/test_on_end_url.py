"""The URL of `on_end`: a signed call with the result, retried, also after a kill."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import symposia
from live import until
from servers.remote_system import SECRET, RemoteSystem
from symposia.agents.remote.webhook import ID, refusal
from symposia.client.building.app import create_app
from symposia.client.steps.on_end import end_message_id
from symposia.client.steps.service import Steps
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput
from symposia.models.sessions.on_end import check_url
from symposia.state.redis.connect import connect

SAY = {"ann": "say", "ben": "say"}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[RemoteSystem]:
    receiver = RemoteSystem()
    monkeypatch.setenv("SYMPOSIA_ON_END_URLS", receiver.url)
    monkeypatch.setenv("SYMPOSIA_ON_END_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("ON_END_SECRET", SECRET)
    monkeypatch.setenv("STEP_BACKEND", "cache+memory://")
    yield receiver
    receiver.close()


def submit(installation: Any, url: str) -> symposia.CollabJob:
    return installation.submit("round_robin", SAY, stop={"max_rounds": 1}, on_end=url)


def until_sent(installation: Any) -> None:
    with connect(installation.redis_url) as redis:
        until(lambda: not redis.zcard("symposia:steps"), what="nothing is left to send")


@pytest.mark.parametrize(
    ("answers", "kill_at", "calls"),
    [
        ([], "", 1),
        ([(503, {}), (503, {})], "", 3),
        ([(410, {})], "", 1),
        ([], "before-message", 1),
        ([], "after-message", 2),
    ],
)
def test_url_gets_result(
    installation: Any, receiver: RemoteSystem, answers: list[Any], kill_at: str, calls: int
) -> None:
    receiver.answers.extend(answers)
    (installation.folder / "kill-at").write_text(kill_at)
    installation.lease_s = 2
    worker = installation.start_worker(app="processes.step_app")
    job = submit(installation, f"{receiver.url}/ended?of=us")
    if kill_at:
        until(lambda: worker.process.poll() is not None, what="the worker is killed")
        installation.start_worker()
    until(lambda: len(receiver.deliveries) == calls, what="the URL is called")
    until_sent(installation)
    for headers, body in receiver.deliveries:
        assert headers[ID] == end_message_id(job.id)
        assert refusal(SECRET, headers, body, now_s=int(time.time())) is None
        result = json.loads(body)
        assert (result["collab_id"], result["status"], result["turns"]) == (job.id, "completed", 2)
    assert len(receiver.deliveries) == calls


def test_end_that_is_found_twice_causes_one_call(installation: Any, receiver: RemoteSystem) -> None:
    settings = load_settings(**installation.settings)
    with closing(create_app(settings)) as app:
        steps = Steps(app, settings)
        job = submit(installation, f"{receiver.url}/ended")
        job.cancel()
        for _ in range(3):
            steps.send(job.id)
        with connect(installation.redis_url) as redis:
            until(lambda: steps.sweep() == redis.zcard("symposia:steps") == 0, what="nothing is left to send")
    assert len(receiver.deliveries) == 1


def test_other_url_is_refused(installation: Any, receiver: RemoteSystem) -> None:
    with pytest.raises(InvalidInput, match="on_end_urls"):
        submit(installation, "https://example.com/ended?secret=x")


def test_local_client_has_no_on_end(receiver: RemoteSystem) -> None:
    people = [symposia.Participant(participant_id="ann")]
    collab = symposia.Collab(title="t", purpose="p", mode="round_robin", participants=people)
    with (
        symposia.LocalClient({"ann": lambda _: "hello"}) as client,
        pytest.raises(InvalidInput, match="on_end"),
    ):
        client.submit(collab, agents={"ann": "ann"}, on_end=receiver.url)


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://shop.example/hooks", True),
        ("https://SHOP.example:443/hooks/ended?of=us", True),
        ("https://shop.example/hooks-of-others", False),
        ("https://shop.example/hooks/../admin", False),
        ("https://shop.example/hooks/%2e%2E/admin", False),
        ("https://shop.example/hooks/%2e%2e%2fadmin", False),
        ("https://shop.example.evil.example/hooks", False),
        ("https://shop.example@evil.example/hooks", False),
        ("https://shop.example\\@evil.example/hooks", False),
        ("http://shop.example/hooks", False),
        ("https://shop.example:444/hooks", False),
        ("https://shop.example/hooks/\r\nx: y", False),
    ],
)
def test_prefix_of_url(url: str, is_allowed: bool) -> None:
    allowed = ["https://shop.example/hooks/"]
    if is_allowed:
        check_url(url, allowed)
        return
    with pytest.raises(InvalidInput, match="on_end_urls"):
        check_url(url, allowed)
