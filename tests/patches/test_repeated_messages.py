"""Messages made from one of Celery's: the same but for their ids, in one round trip, and through Celery where needed."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, signals
from redis import Redis

from symposia.client.building.app import create_app
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.models.text.ids import new_id
from symposia.patches.repeated_messages import RepeatedMessages
from symposia.state.redis.connect import connect
from symposia.tasks.runtime.graph import FirstStep, TaskGraph


@pytest.fixture(params=["", "team:"])
def prefix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def app(redis_url: str, tmp_path, prefix: str) -> Iterator[Celery]:
    app = create_app(load_settings(redis_url=redis_url, data_dir=tmp_path, key_prefix=prefix))
    yield app
    app.close()


@pytest.fixture
def server(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as server:
        yield server


@pytest.fixture
def events(server: Redis) -> Iterator[Any]:
    with server.pubsub(ignore_subscribe_messages=True) as pubsub:
        pubsub.psubscribe("*celeryev*")
        pubsub.get_message(timeout=5)  # the answer to the subscription
        yield lambda: json.loads(pubsub.get_message(timeout=5)["data"])


def content(envelope: Any, session: str) -> Any:
    """Return a message without what differs between two of the same kind; its session has the id `session`."""
    body = json.loads(b64decode(envelope.pop("body")))
    assert len(envelope["properties"].pop("delivery_tag")) == 36
    if isinstance(body, dict):
        assert body.pop("clock") > 0
        assert body.pop("timestamp") > 1e9
    text = json.dumps([envelope, body], sort_keys=True)
    assert session in text
    return text.replace(session, "ID")


def test_message_and_event_are_those_of_celery(app, server, events, prefix, monkeypatch):
    ids = [new_id() for _ in range(3)]
    TaskGraph(lambda: app).send_first_steps(FirstStep(one, 1_700_000_000_000) for one in ids)
    own = [*server.lrange(f"{prefix}{QUEUE}", 0, -1)][::-1]
    assert [json.loads(it)["headers"]["id"] for it in own] == ids
    own_event = events()
    monkeypatch.setattr(RepeatedMessages, "send", lambda *_: False)
    server.delete(f"{prefix}{QUEUE}")
    for _ in ids[1:]:
        events()
    TaskGraph(lambda: app).send_first_steps([FirstStep(ids[0], 1_700_000_000_000)])
    (usual,) = server.lrange(f"{prefix}{QUEUE}", 0, -1)
    assert content(json.loads(own[0]), ids[0]) == content(json.loads(usual), ids[0])
    assert content(own_event, ids[0]) == content(events(), ids[0])
    server.delete(f"{prefix}{QUEUE}")


def test_receivers_of_signals_get_each_message(app, server, prefix):
    seen = []

    def receive(headers: Any, **_: Any) -> None:
        seen.append(headers["id"])

    ids = [new_id() for _ in range(2)]
    signals.before_task_publish.connect(receive)
    try:
        TaskGraph(lambda: app).send_first_steps(FirstStep(one, 1) for one in ids)
    finally:
        signals.before_task_publish.disconnect(receive)
    assert seen == ids
    assert server.llen(f"{prefix}{QUEUE}") == 2
    server.delete(f"{prefix}{QUEUE}")


def test_wrapped_send_task_gets_each_message(app, server, prefix):
    """As by the integration of an error tracker."""
    seen = []

    class Traced(type(app)):
        def send_task(self, *args: Any, **how: Any) -> Any:
            seen.append(how["task_id"])
            return super().send_task(*args, **how)

    ids = [new_id() for _ in range(2)]
    app.__class__ = Traced
    TaskGraph(lambda: app).send_first_steps(FirstStep(one, 1) for one in ids)
    assert seen == ids
    server.delete(f"{prefix}{QUEUE}")


def test_message_of_a_celery_task_is_its_child_only_while_it_runs(app, server, prefix):
    @app.task(name="submits", shared=False)
    def submits() -> None:
        TaskGraph(lambda: app).send_first_steps([FirstStep(new_id(), 1)])

    submits.apply()
    TaskGraph(lambda: app).send_first_steps([FirstStep(new_id(), 1)])
    first, second = (json.loads(it)["headers"] for it in server.lrange(f"{prefix}{QUEUE}", 0, -1)[::-1])
    assert second["parent_id"] is None
    assert first.keys() == second.keys()
    server.delete(f"{prefix}{QUEUE}")
