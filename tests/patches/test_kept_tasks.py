"""A kept task has the request that Celery would create from its message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.worker import state
from celery.worker.request import Request
from kombu import Exchange, Queue

from symposia.models.protocol.collab import CollabMode
from symposia.patches.kept_tasks import KeptTask, _SliceRunner, _thread, keep_task
from symposia.tasks.runtime.graph import TaskGraph, TurnCall

OWN = {"id": "1", "root_id": "2", "parent_id": "3", "kwargsrepr": "a=1", "group": "4", "group_index": 0}


@pytest.fixture
def app():
    app = Celery("kept", broker="memory://", set_as_current=False)

    @app.task(name="again", ignore_result=True, shared=False)
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


def test_error_of_a_kept_task_leaves_nothing_in_the_worker(app, consumer, caplog):
    @app.task(name="ends", ignore_result=True, shared=False)
    def ends(**_: Any) -> None:
        raise SystemExit(3)

    consumer.task_buckets["ends"] = None
    runner = _SliceRunner(consumer)
    acknowledged = []
    request = runner._request(KeptTask("again", {}, OWN))
    request._on_ack = lambda *_: acknowledged.append(True)
    own = {**OWN, "id": "5"}

    def first() -> tuple[int, None, float]:
        assert keep_task(app, KeptTask("ends", {}, own))
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert acknowledged == [True]
    assert "5" not in state.requests
    assert not [it for it in state.reserved_requests if it.id == "5"]
    assert "kept Celery task 5 failed" in caplog.text


def test_only_turns_of_known_agents_are_kept(app, consumer):
    consumer.task_buckets["symposia.turn"] = None
    graph = TaskGraph(lambda: app, knows_agent={"say"}.__contains__)
    runner, kept = _SliceRunner(consumer), []
    request = runner._request(KeptTask("again", {}, OWN))

    def first() -> tuple[int, None, float]:
        for agent in ("extra", "", "say"):
            call = TurnCall("1", 1, "ann", CollabMode.ROUND_ROBIN, "floor", agent)
            kept.append(graph._keep(call, "6", parent="5", group_id=None))
        _thread.current.kept = None  # there is no such task to run
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert kept == [False, False, True]
