"""When the message of a step is sent again: not while it waits in a queue. What a failed `apply_async` leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from redis import Redis

import symposia
from live import until
from symposia.client import Client
from symposia.client.steps.service import Steps, session_id_of, steps_of
from symposia.config.settings import Settings, load_settings
from symposia.state.redis.connect import connect
from symposia.state.redis.readers import server_ms
from symposia.state.sessions.index import SENT_MS, QueueProgress
from symposia.state.steps import StepStore

TASK = "5d7e8f5c-7c1f-4d53-8f0a-3c5d9f3f7f10"
SESSION = session_id_of(TASK)
COLLAB = {"title": "A step", "purpose": "see", "mode": "round_robin"}
OPTIONS: dict[str, Any] = {"agents": {"ann": "say", "ben": "say"}, "stop": {"max_rounds": 1}}
GRACE_MS = 1_000


@pytest.fixture
def settings(redis_url: str) -> Settings:
    return load_settings(redis_url=redis_url, redispatch_after_s=GRACE_MS / 1_000)


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def app(settings: Settings, redis_url: str) -> Iterator[Celery]:
    """The app of a producer; no worker runs."""
    app = Celery("shop", broker=redis_url, set_as_current=False)
    symposia.install(app, settings)
    app.loader.import_task_module("symposia.client.steps.celery_tasks")
    app.finalize()
    yield app
    app.close()


@pytest.fixture
def store(redis: Redis) -> Iterator[StepStore]:
    store = StepStore(redis)
    yield store
    store.finish(SESSION, ttl_ms=1_000)


def send(app: Celery, **options: Any) -> None:
    app.tasks["symposia.session"].s(COLLAB, **OPTIONS).apply_async(task_id=TASK, **options)


def sweep(app: Celery, store: StepStore) -> None:
    store.index.set_due(SESSION)
    assert steps_of(app).sweep() == 1


def pause_ms(redis: Redis, store: StepStore) -> float:
    time_ms = store.index.time_of(SESSION)
    assert time_ms is not None
    return time_ms - server_ms(redis)


def test_message_that_waits_is_not_sent_again(app: Celery, store: StepStore, redis: Redis) -> None:
    send(app)
    progress = QueueProgress(redis)
    progress.record_taken(server_ms(redis) - 60_000)  # the workers are a minute behind
    progress.publish()
    for _ in range(20):
        sweep(app, store)
    assert redis.llen("symposia") == 1


def test_message_that_was_overtaken_is_sent_again(app: Celery, store: StepStore, redis: Redis) -> None:
    send(app)
    progress = QueueProgress(redis)

    def is_sent_again() -> bool:
        progress.record_taken(server_ms(redis))
        progress.publish()
        sweep(app, store)
        return redis.llen("symposia") == 2

    until(is_sent_again, what="the message counts as lost")
    headers = [json.loads(message)["headers"] for message in redis.lrange("symposia", 0, -1)]
    assert headers[0][SENT_MS] > headers[1][SENT_MS] > 0
    assert pause_ms(redis, store) > GRACE_MS, "the next pause is longer"


def test_free_worker_that_takes_nothing_gets_one_copy(app: Celery, store: StepStore, redis: Redis) -> None:
    send(app)
    QueueProgress(redis).publish(is_free=True)
    for _ in range(5):
        sweep(app, store)
    assert redis.llen("symposia") == 2


def test_pauses_double_in_another_queue(app: Celery, store: StepStore, redis: Redis) -> None:
    send(app, queue="reports")
    pauses = []
    for _ in range(8):
        sweep(app, store)
        pauses.append(round(pause_ms(redis, store) / GRACE_MS))
    assert pauses == [2, 4, 8, 16, 32, 64, 64, 64]
    assert redis.llen("reports") == 9


@pytest.mark.parametrize("is_opened", [False, True])
def test_failed_publish_keeps_an_opened_step(
    app: Celery, settings: Settings, store: StepStore, is_opened: bool
) -> None:
    steps = Steps(app, settings)

    def publish() -> None:
        with steps.sending(TASK, (), {}, {}):
            if is_opened:  # a worker has the message already
                store.register(SESSION, "{}", stage="waiting", check_in_ms=0)
            raise ConnectionError("the answer of the broker is lost")

    with pytest.raises(ConnectionError):
        publish()
    assert (store.read(SESSION) is not None) == is_opened
    assert store.index.time_of(SESSION) is not None
    if not is_opened:
        sweep(app, store)
        assert store.index.time_of(SESSION) is None


def test_session_with_on_end_is_checked_from_its_submission(
    app: Celery, settings: Settings, store: StepStore, redis: Redis
) -> None:
    with Client(settings) as client:
        options = {**OPTIONS, "on_end": {"task": "shop.report", "options": {"queue": "ended"}}}
        people = [symposia.Participant(participant_id=name) for name in ("ann", "ben")]
        job = client.submit(symposia.Collab(participants=people, **COLLAB), **options)
        assert store.index.time_of(job.id) is not None
        job.cancel()  # and a worker of release 0.1.0 ends it
        store.index.set_due(job.id)
        steps_of(app).sweep()
    assert redis.llen("ended") == 1
    assert store.index.time_of(job.id) is None
