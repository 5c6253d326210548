"""Events of sessions arrive at a webhook: signed, once per id, also if workers are killed or the receiver fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from documents.pages import Page
from live import until
from review_tools.batches import head
from review_tools.pulls import a_reviewed_pull, on_line
from servers.remote_system import SECRET, RemoteSystem
from symposia.client.building.app import create_app
from symposia.client.building.reviews import build_review_context
from symposia.client.building.webhooks import webhook_deliverer, webhook_events
from symposia.client.webhooks.deliverer import RETRY_FOR_MS
from symposia.client.webhooks.webhooks_file import EventType, WebhooksConfig
from symposia.config.settings import load_settings
from symposia.models.errors import DeliveryFailed, InvalidInput
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE, WEBHOOK_WAITING, webhook_delivery_key
from symposia.state.webhooks import DeliveryState, WebhookStore

PAGE = Page("docs/webhooks.md")
FILE = PAGE.take("toml", "[webhooks.ops]")
IS_GENUINE = PAGE.take("python", "def is_genuine")
SAY = {"ann": "say", "ben": "say"}
DEADLINE_S = 40


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch, installation: Any) -> Iterator[RemoteSystem]:
    receiver = RemoteSystem()
    monkeypatch.setenv("OPS_SECRET", SECRET)
    monkeypatch.setenv("SYMPOSIA_WEBHOOKS_FILE", str(installation.folder / "webhooks.toml"))
    yield receiver
    receiver.close()


def write_file(installation: Any, url: str, *events: str, more: str = "") -> None:
    (installation.folder / "webhooks.toml").write_text(
        f'[webhooks.ops]\nurl = "{url}"\nsecret_env = "OPS_SECRET"\nevents = {json.dumps(events)}\n'
        f'networks = ["127.0.0.0/8"]\n{more}'
    )


def submit(installation: Any, agents: dict[str, str] = SAY, **options: Any) -> Any:
    return installation.submit("round_robin", agents, stop={"max_rounds": 1}, **options)


def is_genuine(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Check a signature with the function of the page."""
    names: dict[str, Any] = {}
    exec(IS_GENUINE, names)  # noqa: S102 - our own page
    return names["is_genuine"](secret, headers, body)


def read_event(headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Return an event that is signed by the rules of Standard Webhooks."""
    assert is_genuine(SECRET, headers, body)
    assert not is_genuine(SECRET, headers, body + b" ")
    return json.loads(body)


def test_function_of_the_page_accepts_the_vector_of_standard_webhooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.time", lambda: 1614265330)
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert is_genuine("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers, b'{"test": 2432232314}')


def test_file_of_the_page_is_read(tmp_path: Path) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(FILE)
    config = WebhooksConfig.load(file, getenv={"SHOP_URL": "x", "SHOP_SECRET": "x"}.get)
    assert config.receivers(EventType.SESSION_ENDED, "shop") == ["shop"]
    assert config.receivers(EventType.SESSION_ENDED, "other") == []
    assert list(config.problems()) == ["[webhooks.ops]: environment variable OPS_SECRET is not set"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x", "webhooks_file: must be valid TOML"),
        ("[webhooks.a]\n", r"webhooks\.toml\.webhooks\.a\."),
        ('[webhooks.a]\nurl = "file:///x"\nevents = ["session.ended"]\nsecret_env = "A"', "must be a URL"),
        ('[webhooks.a]\nevents = ["session.ended"]\nsecret_env = "A"', "either `url` or `url_env`"),
        ('[webhooks.a]\nurl_env = "U"\nevents = ["webhook.test"]\nsecret_env = "A"', "webhook.test"),
        ('[webhooks.a]\nurl_env = "U"\nevents = ["review.ended"]\ntenant = "t"\nsecret_env = "A"', "tenant"),
        ('[hooks.a]\nsecret_env = "A"\nrepository = "shop"\nreview = "pulls"', "repository"),
        ('[hooks.a]\nsecret_env = "A"\nrepository = "example/shop"', "must have `review`, `deliver` or both"),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=error):
        WebhooksConfig.load(file, getenv=str)


@pytest.mark.parametrize(
    ("kill_at", "calls"),
    [
        ("", 1),
        ("after-commit", 1),
        ("before-queue", 1),
        ("after-queue", 1),
        ("before-call", 1),
        ("after-call", 2),
    ],
)
def test_end_arrives_although_worker_is_killed(
    installation: Any, receiver: RemoteSystem, kill_at: str, calls: int
) -> None:
    write_file(installation, receiver.url, "session.ended", "session.failed")
    (installation.folder / "kill-at").write_text(kill_at)
    installation.lease_s = 2
    worker = installation.start_worker(app="processes.webhook_app")
    job = submit(installation)
    if kill_at:
        until(lambda: worker.process.poll() is not None, what="the worker is killed", timeout_s=DEADLINE_S)
        installation.start_worker(app="processes.webhook_app")
    until(lambda: len(receiver.deliveries) == calls, what="the event arrives", timeout_s=DEADLINE_S)
    with connect(installation.redis_url) as redis:
        until(lambda: not redis.zcard(WEBHOOK_WAITING), what="nothing is left to send")
    (delivery,) = installation.client.webhooks.deliveries("ops")
    assert delivery.state is DeliveryState.DELIVERED
    assert len(receiver.deliveries) == calls
    for headers, body in receiver.deliveries:
        event = read_event(headers, body)
        assert headers["webhook-id"] == delivery.id
        assert (event["type"], event["data"]["collab_id"]) == ("session.ended", job.id)
        assert (event["data"]["status"], event["data"]["turns"]) == ("completed", 2)


def test_receiver_fails_then_accepts(installation: Any, receiver: RemoteSystem) -> None:
    write_file(installation, receiver.url, "session.ended")
    receiver.answers.extend([(500, {}), (404, {})])
    installation.start_worker()
    submit(installation)
    until(lambda: len(receiver.deliveries) == 3, what="the third attempt", timeout_s=DEADLINE_S)
    webhooks = installation.client.webhooks
    until(lambda: webhooks.entries()[0].delivered == 1, what="it is recorded")
    (delivery,) = webhooks.deliveries()
    assert (delivery.attempts, delivery.error) == (3, "")
    assert len({headers["webhook-id"] for headers, _ in receiver.deliveries}) == 1
    with pytest.raises(InvalidInput, match="has no body: it was delivered"):
        webhooks.send("ops", delivery.id[:8])


def test_delivery_fails_after_a_day(installation: Any, receiver: RemoteSystem) -> None:
    write_file(installation, receiver.url, "session.ended")
    receiver.answers.extend([(503, {})] * 3)
    job = submit(installation)
    job.cancel()
    installation.start_worker()
    webhooks = installation.client.webhooks
    until(webhooks.deliveries, what="it is queued", timeout_s=DEADLINE_S)
    (delivery,) = webhooks.deliveries()
    with connect(installation.redis_url) as redis:
        redis.hset(webhook_delivery_key(delivery.id), "created_ms", delivery.created_ms - RETRY_FOR_MS)
        until(lambda: webhooks.deliveries(failed=True), what="it has failed", timeout_s=DEADLINE_S)
        assert not redis.zcard(WEBHOOK_WAITING)
    (failed,) = webhooks.deliveries("ops", failed=True)
    assert failed.error == "127.0.0.1 answered HTTP 503"
    receiver.answers.clear()
    receiver.deliveries.clear()
    assert webhooks.send("ops", failed.id[:8]).id == failed.id
    until(lambda: receiver.deliveries, what="it is sent again", timeout_s=DEADLINE_S)
    assert receiver.deliveries[0][1] == failed.body.encode()


def test_events_are_those_of_the_tenant(installation: Any, receiver: RemoteSystem) -> None:
    write_file(installation, receiver.url, "session.failed", "question.asked", more='tenant = "shop"\n')
    installation.start_worker()
    other = submit(installation, {"ann": "human", "ben": "say"}, tenant="other")
    asked = submit(installation, {"ann": "human", "ben": "say"}, tenant="shop")
    until(lambda: len(receiver.deliveries) == 1, what="the question arrives", timeout_s=DEADLINE_S)
    event = read_event(*receiver.deliveries[0])
    assert (event["type"], event["data"]["collab_id"]) == ("question.asked", asked.id)
    assert (event["data"]["turn_number"], event["data"]["asked"]) == (1, ["ann"])
    policy = {"attempts": 1}
    failed = submit(installation, {"ann": "unspeakable", "ben": "say"}, tenant="shop", policy=policy)
    until(lambda: len(receiver.deliveries) == 2, what="the failure arrives", timeout_s=DEADLINE_S)
    event = read_event(*receiver.deliveries[1])
    assert (event["type"], event["data"]["collab_id"]) == ("session.failed", failed.id)
    assert event["data"]["reason"] == "failed"
    for job in (asked, other):
        job.cancel("not needed")
    with connect(installation.redis_url) as redis:
        until(lambda: not redis.zcard(DUE), what="the sweep has seen the ends")
    assert len(installation.client.webhooks.deliveries()) == 2


@pytest.mark.parametrize("kill_at", ["before-queue", "after-queue"])
def test_question_arrives_although_worker_is_killed(
    installation: Any, receiver: RemoteSystem, kill_at: str
) -> None:
    write_file(installation, receiver.url, "question.asked")
    (installation.folder / "kill-at").write_text(kill_at)
    installation.lease_s = 2
    worker = installation.start_worker(app="processes.webhook_app")
    job = submit(installation, {"ann": "human", "ben": "say"})
    until(lambda: worker.process.poll() is not None, what="the worker is killed", timeout_s=DEADLINE_S)
    installation.start_worker(app="processes.webhook_app")
    until(lambda: len(receiver.deliveries) == 1, what="the question arrives", timeout_s=DEADLINE_S)
    assert read_event(*receiver.deliveries[0])["data"]["collab_id"] == job.id
    job.cancel()


def test_private_address_is_not_called(installation: Any, receiver: RemoteSystem) -> None:
    write_file(installation, receiver.url, "session.ended")
    file = installation.folder / "webhooks.toml"
    assert installation.client.webhooks.test("ops") < DEADLINE_S
    assert read_event(*receiver.deliveries[0])["type"] == "webhook.test"
    file.write_text(file.read_text().replace('networks = ["127.0.0.0/8"]', ""))
    with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1"):
        installation.client.webhooks.test("ops")
    with pytest.raises(InvalidInput, match="must be a webhook of the webhooks file"):
        installation.client.webhooks.test("oops")
    assert len(receiver.deliveries) == 1


def test_end_of_a_review_is_queued_once(redis_url: str, tmp_path: Path) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(FILE)
    run = a_reviewed_pull(on_line(2, "S105"))
    with connect(redis_url) as redis:
        events = webhook_events(load_settings(redis_url=redis_url, webhooks_file=file), redis)
        for _ in range(2):
            events.review_ended(run)
        (delivery,) = WebhookStore(redis).deliveries()
    event = json.loads(delivery.body)
    assert (delivery.webhook, event["type"], event["data"]["run_id"]) == ("ops", "review.ended", run.id)
    assert "findings" not in event["data"]


def test_wrong_file_does_not_stop_the_end_of_a_review(
    redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, run = tmp_path / "webhooks.toml", a_reviewed_pull(on_line(2, "S105"))
    settings = load_settings(redis_url=redis_url, webhooks_file=file)
    app = create_app(settings)
    with connect(redis_url) as redis:
        context = build_review_context(lambda: app, settings, redis, None)
        file.write_text("x")
        context.on_run_ended(run, head())
        assert "is not sent to webhooks: webhooks_file: must be valid TOML" in caplog.text
        file.write_text(FILE)
        context.on_run_ended(run, head())
        assert len([*WebhookStore(redis).deliveries()]) == 1


def test_slow_webhook_keeps_no_other_waiting(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick, answered = RemoteSystem(), RemoteSystem(), Event()
    slow.heard = lambda _: answered.wait(DEADLINE_S)
    monkeypatch.setenv("OPS_SECRET", SECRET)
    entry = 'url = "{}"\nsecret_env = "OPS_SECRET"\nevents = ["session.ended"]\nnetworks = ["127.0.0.0/8"]\n'
    file = tmp_path / "webhooks.toml"
    file.write_text(f"[webhooks.slow]\n{entry.format(slow.url)}[webhooks.quick]\n{entry.format(quick.url)}")
    event = {"event": "session.ended", "subject": "s", "body": "{}"}
    try:
        with connect(redis_url) as redis:
            store = WebhookStore(redis)
            deliverer = webhook_deliverer(load_settings(redis_url=redis_url, webhooks_file=file), redis)
            for number in range(20):
                store.add(f"slow{number}", webhook="slow", **event)
            store.add("quick", webhook="quick", **event)
            assert deliverer.sweep() == 5
            until(lambda: len(quick.deliveries) == 1, what="the other one is delivered")
            assert deliverer.sweep() == 0
            assert len(store.claim("slow", limit=100, hold_ms=60_000)) == 16  # for other processes
            answered.set()
            until(
                lambda: "symposia-webhook" not in [it.name for it in threading.enumerate()],
                what="the calls end",
            )
            assert store.waiting() == 16
    finally:
        answered.set()
        slow.close()
        quick.close()
