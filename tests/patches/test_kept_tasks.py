"""A kept task has the request that Celery would create from its message."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, signals
from celery.app.trace import trace_task_ret
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.worker import state
from celery.worker.request import Request
from kombu import Exchange, Queue

from live import until
from scaling import patient
from symposia.models.protocol.collab import CollabMode
from symposia.patches import kept_task_runner, kept_tasks
from symposia.patches.kept_task_runner import KeptTasksStep, SliceRunner
from symposia.patches.kept_tasks import (
    BUNDLE,
    SLICE_S,
    SLICE_TASKS,
    KeptTask,
    bundle_headers,
    install_kept_task_sender,
    keep_next,
    keep_task,
    may_keep_next,
    this_thread,
)
from symposia.tasks.runtime.graph import TaskGraph, TurnCall

OWN = {"id": "1", "root_id": "2", "parent_id": "3", "kwargsrepr": "a=1", "group": "4", "group_index": 0}


@pytest.fixture
def sent() -> list[list[str]]:
    """The ids of the tasks of each message that was sent."""
    return []


@pytest.fixture
def app(sent):
    app = Celery("kept", broker="memory://", set_as_current=False)
    install_kept_task_sender(
        app, lambda bundles: sent.extend([it.headers["id"] for it in tasks] for tasks in bundles)
    )

    @app.task(name="again", ignore_result=True, shared=False)
    def again(**_: Any) -> None:
        """Do nothing."""

    return app


class FakeConsumer(SimpleNamespace):
    """What a kept task needs of a consumer."""

    __hash__ = object.__hash__


@pytest.fixture
def consumer(app):
    pool = ThreadPool(limit=1)
    yield FakeConsumer(
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
    kept = SliceRunner(consumer)._request(KeptTask("again", {"a": 1}, OWN))
    assert comparable(kept) == {**comparable(sent_request(app)), "args": ()}
    assert kept.correlation_id == "1"


def test_nothing_is_kept_outside_of_a_worker(app):
    assert not keep_task(app, KeptTask("again", {}, OWN))


def test_task_with_a_rate_limit_is_not_kept(consumer):
    runner = SliceRunner(consumer)
    assert runner.may_keep("again")
    consumer.task_buckets["again"] = object()
    assert not runner.may_keep("again")


def test_stopped_worker_keeps_nothing(consumer):
    runner = SliceRunner(consumer)
    runner.is_open = False
    assert not runner.may_keep("again")


def test_error_of_a_kept_task_leaves_nothing_in_the_worker(app, consumer, caplog):
    @app.task(name="ends", ignore_result=True, shared=False)
    def ends(**_: Any) -> None:
        raise SystemExit(3)

    consumer.task_buckets["ends"] = None
    runner = SliceRunner(consumer)
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
    graph = TaskGraph(lambda: app, can_run={"say"}.__contains__)
    runner, kept = SliceRunner(consumer), []
    graph._send = lambda messages, **_: kept.extend(it.kwargs["participant"] for it, _ in messages)
    request = runner._request(KeptTask("again", {}, OWN))

    def first() -> tuple[int, None, float]:
        for agent in ("extra", "", "say"):
            call = TurnCall("1", 1, f"with {agent}", CollabMode.ROUND_ROBIN, "floor", agent)
            graph.send_turns([call], parent="5", sent_ms=0)
        this_thread.current.kept.clear()  # there is no such task to run
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert kept == ["with extra", "with "]


def test_promised_task_runs_although_the_worker_stops(app, consumer):
    ran, acknowledged, runner = [], [], SliceRunner(consumer)

    @app.task(name="noted", ignore_result=True, shared=False)
    def noted() -> None:
        ran.append(this_thread.current is not None)

    consumer.task_buckets["noted"] = None
    runner._trace = partial(trace_task_ret, app=app)
    assert not may_keep_next(app, "noted")  # this thread runs no task of a worker
    request = runner._request(KeptTask("again", {}, OWN))
    request._on_ack = lambda *_: acknowledged.append(list(ran))

    def first() -> tuple[int, None, float]:
        assert may_keep_next(app, "noted")
        keep_next(KeptTask("noted", {}, {**OWN, "id": "5"}))
        assert not may_keep_next(app, "noted")
        assert not keep_task(app, KeptTask("noted", {}, {**OWN, "id": "6"}))
        runner.is_open = False
        acknowledged.clear()
        request._on_ack()
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert acknowledged == [[True]], "the message is acknowledged after the promised task"


@pytest.mark.parametrize("taken", ["kept", "left", "until"])
def test_nothing_is_promised_by_a_thread_that_sends_its_next_task(app, consumer, taken):
    runner, answers = SliceRunner(consumer), []
    request = runner._request(KeptTask("again", {}, OWN))

    def first() -> tuple[int, None, float]:
        current = this_thread.current
        current.kept.extend([KeptTask("again", {}, OWN)] * (taken == "kept"))
        current.left *= taken != "left"
        current.until -= SLICE_S * (taken == "until")
        answers.append(may_keep_next(app, "again"))
        current.kept.clear()
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert answers == [False]


def test_only_short_tasks_wait_for_each_other(app, consumer):
    runner, answers = SliceRunner(consumer), []
    request = runner._request(KeptTask("again", {}, OWN))

    def first() -> tuple[int, None, float]:
        kept = this_thread.current.kept
        for lengths in ((True, True, False), (False, True, False)):
            answers.append([keep_task(app, KeptTask("again", {}, OWN, it)) for it in lengths])
            kept.clear()
        return (0, None, 0.0)

    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))
    assert answers == [[True, True, False], [True, False, False]]


def run_first(runner: SliceRunner, request: Any, first: Any) -> None:
    """Run a function as the task of a message, then the tasks that it keeps."""
    runner._run(request, (first, (), {}, request.on_success, request.on_accepted))


def test_task_behind_a_slow_one_is_sent(app, consumer, sent):
    @app.task(name="slow", ignore_result=True, shared=False)
    def slow(**_: Any) -> None:
        """End after the other task was sent."""
        until(lambda: sent, what="the other task is sent")

    consumer.task_buckets["slow"] = None
    runner = SliceRunner(consumer)
    runner._trace = partial(trace_task_ret, app=app)  # instead of the current app

    def first() -> tuple[int, None, float]:
        assert keep_task(app, KeptTask("slow", {}, {**OWN, "id": "5"}, is_short=True))
        assert keep_task(app, KeptTask("again", {}, {**OWN, "id": "6"}, is_short=True))
        return (0, None, 0.0)

    run_first(runner, runner._request(KeptTask("again", {}, OWN)), first)
    assert sent == [["6"]]


def test_later_tasks_are_sent_in_bundles(app, consumer, sent, monkeypatch):
    monkeypatch.setattr(kept_task_runner, "SLICE_S", 0.0)
    runner = SliceRunner(consumer)
    ids = [str(number) for number in range(SLICE_TASKS + 3)]

    def first() -> tuple[int, None, float]:
        assert all(keep_task(app, KeptTask("again", {}, {**OWN, "id": it}, is_short=True)) for it in ids)
        assert not keep_task(app, KeptTask("again", {}, OWN))  # long tasks go to any worker
        return (0, None, 0.0)

    run_first(runner, runner._request(KeptTask("again", {}, OWN)), first)
    assert sent == [ids[:SLICE_TASKS], ids[SLICE_TASKS:]]


def test_tasks_of_a_bundle_run_in_the_thread_that_takes_it(app, consumer, sent):
    ran = []

    @app.task(name="noted", ignore_result=True, shared=False)
    def noted(*, number: int) -> None:
        ran.append(number)

    consumer.task_buckets["noted"] = None
    runner = SliceRunner(consumer)
    runner._trace = partial(trace_task_ret, app=app)
    others = [KeptTask("noted", {"number": it}, {**OWN, "id": str(it)}) for it in (2, 3)]
    request = runner._request(KeptTask("noted", {"number": 1}, OWN | bundle_headers(others)))
    run_first(runner, request, lambda: (0, None, 0.0))
    assert ran == [2, 3]
    assert sent == []


def test_task_of_a_bundle_does_not_wait_for_a_slow_first_one(app, consumer, sent):
    runner = SliceRunner(consumer)
    others = [KeptTask("again", {}, {**OWN, "id": "5"})]
    request = runner._request(KeptTask("again", {}, OWN | bundle_headers(others)))

    def first() -> tuple[int, None, float]:
        until(lambda: sent, what="the other task is sent")
        return (0, None, 0.0)

    run_first(runner, request, first)
    assert sent == [["5"]]


def test_tasks_of_a_bundle_that_are_not_slow_run_in_its_thread(app, consumer, sent, monkeypatch):
    monkeypatch.setattr(kept_tasks, "SLICE_S", patient(5))  # of the thread that watches
    monkeypatch.setattr(kept_task_runner, "SLICE_S", patient(5))
    monkeypatch.setattr(kept_tasks, "SLICE_TASKS", 1)
    runner = SliceRunner(consumer)
    runner._trace = partial(trace_task_ret, app=app)
    others = [KeptTask("again", {}, {**OWN, "id": str(it)}) for it in range(20)]
    request = runner._request(KeptTask("again", {}, OWN | bundle_headers(others)))
    answers = []

    def first() -> tuple[int, None, float]:
        answers.append(keep_task(app, KeptTask("again", {}, {**OWN, "id": "20"}, is_short=True)))
        return (0, None, 0.0)

    run_first(runner, request, first)
    assert answers == [True]
    assert sent == [["20"]]


@pytest.mark.parametrize(
    "bundle", [7, [1], [{}], [{"kwargs": 1, "headers": []}], [{"kwargs": {}, "headers": {}}]]
)
def test_malformed_bundle_is_ignored(app, consumer, sent, bundle, caplog):
    runner = SliceRunner(consumer)
    request = runner._request(KeptTask("again", {}, {**OWN, BUNDLE: bundle}))
    run_first(runner, request, lambda: (0, None, 0.0))
    assert sent == []
    assert "malformed" in caplog.text


def test_other_pools_send_the_tasks_of_a_bundle(app, consumer, sent):
    consumer.pool = object()
    for _ in range(2):  # after a reconnect, too
        KeptTasksStep(consumer).start(consumer)
    others = [KeptTask("again", {}, {**OWN, "id": it}) for it in ("5", "6")]
    request = SimpleNamespace(app=app, name="again", id="1", request_dict=bundle_headers(others))
    signals.task_received.send(sender=consumer, request=request)
    signals.task_received.disconnect(dispatch_uid=BUNDLE, sender=consumer)
    assert sent == [["5"], ["6"]]
