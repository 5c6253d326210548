"""A kept task has the request that Celery would create from its message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.worker.request import Request
from kombu import Exchange, Queue

from symposia.patches.kept_tasks import KeptTask, _SliceRunner, keep_task

OWN = {"id": "1", "root_id": "2", "parent_id": "3", "kwargsrepr": "a=1", "group": "4", "group_index": 0}


@pytest.fixture
def app():
    app = Celery("kept", broker="memory://", set_as_current=False)

    @app.task(name="again", ignore_result=True)
    def again(**_: Any) -> None:
        """Do nothing."""

    return app


@pytest.fixture
def consumer(app):
    pool = ThreadPool(limit=1)
    yield SimpleNamespace(
        app=app,
        pool=pool,
        hostname="w1@here",
        event_dispatcher=None,
        connection_errors=(),
        task_buckets={"again": None},
    )
    pool.executor.shutdown()


def sent_request(app: Celery) -> Request:
    """The request of the task's message, sent and received."""
    queue = Queue("kept", Exchange("kept"), routing_key="kept")
    message = app.amqp.create_task_message(
        "1",
        "again",
        kwargs={"a": 1},
        root_id="2",
        parent_id="3",
        group_id="4",
        group_index=0,
        argsrepr="",
        kwargsrepr="a=1",
        ignore_result=True,
    )
    with app.connection_for_write() as connection, connection.SimpleQueue(queue) as received:
        app.amqp.send_task_message(received.producer, "again", message, queue=queue)
        return Request(received.get(timeout=5), app=app, hostname="w1@here")


def comparable(request: Any) -> dict[str, Any]:
    # How it was delivered: the properties and headers of a transport.
    left_out = {"properties", "delivery_info", "reply_to"}
    return {name: value for name, value in request.request_dict.items() if name not in left_out}


def test_request_is_that_of_a_message(app, consumer):
    kept = _SliceRunner(consumer)._request(KeptTask("again", {"a": 1}, OWN))
    assert comparable(kept) == {**comparable(sent_request(app)), "args": ()}
    assert kept.correlation_id == "1"


def test_nothing_is_kept_outside_of_a_worker(app):
    assert not keep_task(app, KeptTask("again", {}, OWN))


def test_task_with_a_rate_limit_is_not_kept(consumer):
    runner = _SliceRunner(consumer)
    assert runner.may_keep("again")
    consumer.task_buckets["again"] = object()
    assert not runner.may_keep("again")


def test_stopped_worker_keeps_nothing(consumer):
    runner = _SliceRunner(consumer)
    runner.is_open = False
    assert not runner.may_keep("again")
