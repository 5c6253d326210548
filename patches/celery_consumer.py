"""Celery's consumer with three changes: for a lost broker, malformed messages, and cold shutdowns.

1. `ReconnectingConsumer`. A worker should wait for a Redis that restarts. With Celery 5.7.0 and kombu 5.7.0
   it exits if a Celery task was running, for two reasons. `Consumer.on_connection_error_after_connected`
   closes the lost connection twice, by `collect` and by `close`. The first time, the channel's pending BRPOP
   fails before the channel counts as closed, and the connection drops its transport. The second time, the
   channel restores unacknowledged messages over a connection without a transport: `AttributeError: 'NoneType'
   object has no attribute 'hostname'`, which Celery does not handle. And a Celery task acknowledges its
   message when it ends, over the channel that delivered the message. That channel is closed: `AttributeError:
   'NoneType' object has no attribute 'client'`, raised inside the event loop. So nothing is restored or
   acknowledged over a lost connection. Neither is needed: the running turns continue in this process. If
   the broker delivers their messages once more, `begin` answers that they are done. Upstream: no open
   issue found; celery/kombu#582 (closed) has the first traceback. Remove it when
   `test_celerys_own_consumer_still_ends_the_worker` (`tests/sessions/brokers/test_lost_broker.py`) fails.

2. `RejectingConsumer` rejects what is not a Celery task, and continues. Celery 5.7.0 refuses some
   malformed messages. Others (a body of two parts instead of three, or of none) raise inside its event loop,
   end the worker, and return to the queue for the next worker. So one message could stop all workers.
   `broker_messages.py` drops unreadable envelopes before. An error of the worker itself, such as of an option that its
   pool lacks, says nothing about the message, which then returns to the queue. Upstream: celery/celery#7975 and celery/celery#4308. Remove
   it when `test_celery_worker_ends_on_a_malformed_message` fails.

3. `ColdShutdownConsumer`: running turns do not delay a cold shutdown (SIGQUIT, the second Ctrl-C). The signal
   handler of Celery 5.7.0 does two things that do not work with threads. It terminates the running tasks:
   threads cannot be terminated, so it raises `NotImplementedError`, and the process stays until the last
   agent has answered. This consumer cancels the agents instead, and then their threads end. Another worker
   repeats their turns when this process has ended. And it stops the pool. That takes a lock which the
   interrupted main thread may hold, if it was submitting a task: a deadlock (python/cpython#121649). So
   nothing stops the threads here. They end by themselves, and the interpreter waits for them before it exits.
   Upstream: celery/celery#10490. Remove it when `test_celery_cannot_terminate_a_thread` fails.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import Celery
from celery.concurrency.thread import TaskPool as ThreadPool
from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer import Consumer
from kombu import Connection

from ..models.errors import UnsuitableQueue
from .broker_messages import RefusedMessage, check_task, is_broker_lost, refuse_compressed
from .celery_events import GatheringConsumer
from .hub_wakeup import WakingConsumer
from .kombu_transport import OneClientMessages

_CANCEL_ATTRIBUTE = "symposia_cancel_turns"


def install_cancel_turns(app: Celery, cancel: Callable[[], None]) -> None:
    """Set the callback with which a cold shutdown of this app's workers cancels the turns of the process."""
    setattr(app, _CANCEL_ATTRIBUTE, cancel)


class ColdShutdownConsumer(Consumer):
    """Celery's consumer, whose cold shutdown is not delayed by turns in threads."""

    def cancel_active_requests(self) -> None:
        """As in Consumer."""
        if not isinstance(self.pool, ThreadPool):
            super().cancel_active_requests()
            return
        self.pool.on_stop = _do_nothing  # type: ignore[method-assign]
        # In a thread: the interrupted code may hold a needed lock, such as that of building the runtime.
        threading.Thread(target=_cancel_turns, args=(self.app,), daemon=True).start()


def _cancel_turns(app: Celery) -> None:
    cancel: Callable[[], None] | None = getattr(app, _CANCEL_ATTRIBUTE, None)
    if cancel is not None:
        cancel()


def _do_nothing() -> None:
    """Replace the pool's `on_stop`, which the signal handler calls next."""


log = logging.getLogger(__name__)

_OUR_TASKS = "symposia."


class RejectingConsumer(Consumer):
    """Celery's consumer, which rejects every message that is not a task, and only those.

    In an app of others, only messages of our tasks are checked: its own are its own business.
    """

    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]
    task_consumer: Any

    def create_task_handler(self, *options: Any) -> Callable[..., Any]:
        """As in Consumer."""
        is_own = isinstance(self.app.amqp, OneClientMessages)
        if is_own:
            refuse_compressed()
        receive = super().create_task_handler(*options)
        broker_errors = (*self.connection_errors, *self.channel_errors)

        def received(message: Any) -> object:
            if not is_own and not str(message.headers.get("task")).startswith(_OUR_TASKS):
                return receive(message)
            try:
                check_task(message)
            except RefusedMessage as error:
                log.error("rejecting message that is not a task: %s", error)
                message.reject_log_error(log, self.connection_errors)
                return None
            try:
                return receive(message)
            except Exception as error:
                if is_broker_lost(error, broker_errors):
                    raise
                # The fault is in this worker. Another one may run the task; a second failure must not repeat for ever.
                is_repeated = _is_redelivered(message)
                fate = "dropping its message" if is_repeated else "returning its message to the queue"
                log.exception("taking Celery task %s failed, %s", message.headers["id"], fate)
                message.reject_log_error(log, self.connection_errors, requeue=not is_repeated)
                return None

        return received


def _is_redelivered(message: Any) -> bool:
    """Return whether the message was returned to the queue before: kombu marks it at its top level on Redis."""
    marks = message.delivery_info, getattr(message, "_raw", {})
    return any(mark.get("redelivered") for mark in marks)


#: Exit code of a worker with a wrong configuration; the same as for commands.
BAD_CONFIGURATION = 2
#: Seconds between two attempts to reach a lost broker: the first pause, its increase, and the maximum.
#: Kombu's are 2, 2 and 30, which would add up to half a minute to an outage of a minute.
_RETRY_INTERVALS = {"interval_start": 1, "interval_step": 1, "interval_max": 5}


class ReconnectingConsumer(ColdShutdownConsumer, RejectingConsumer, WakingConsumer, GatheringConsumer):
    """Consumer of all Symposia workers, named in Celery's setting `worker_consumer`."""

    def start(self) -> None:
        """As in Consumer. A queue of another type ends the worker with one line."""
        try:
            super().start()
        except UnsuitableQueue as error:
            log.critical("%s", error)
            raise SystemExit(BAD_CONFIGURATION) from None

    def add_task_queue(self, queue: Any, *args: Any, **options: Any) -> Any:
        """As in Consumer. The broker closes the channel for a queue of another type: continue without that queue."""
        try:
            return super().add_task_queue(queue, *args, **options)
        except UnsuitableQueue as error:
            self.app.amqp.queues.deselect([queue])
            self.app.amqp.queues.pop(queue, None)
            log.error("not consuming from queue %s: %s", queue, error.detail)
            raise ConnectionError(error.detail) from None

    def ensure_connected(self, conn: Connection) -> Connection:
        """As in Consumer, with shorter pauses."""
        patient = partial(conn.ensure_connection, **_RETRY_INTERVALS)  # type: ignore[arg-type]
        conn.ensure_connection = patient  # type: ignore[method-assign]
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """As in Consumer, without restoring messages over the lost connection."""
        # Virtual transports such as Redis list their channels; with others the broker restores the messages.
        for channel in getattr(self.connection.transport, "channels", ()) if self.connection else ():
            channel.do_restore = False
        with warnings.catch_warnings(action="ignore", category=CPendingDeprecationWarning):
            super().on_connection_error_after_connected(exc)

    def call_soon_ack(self, settle: Callable[..., None], *args: Any, **options: Any) -> Any:
        """As in Consumer. `settle` is the bound method that acknowledges or rejects a message."""
        return super().call_soon_ack(partial(_acknowledge, settle), *args, **options)  # type: ignore[misc]


def _acknowledge(settle: Callable[..., None], *args: Any, **options: Any) -> None:
    """Settle a message, unless its channel was lost while the call waited for the event loop."""
    message = settle.__self__  # type: ignore[attr-defined]
    if _is_channel_lost(message.channel):
        log.info(
            "message %s not acknowledged, its connection was lost",
            message.delivery_tag,
        )
        return
    settle(*args, **options)


def _is_channel_lost(channel: Any) -> bool:
    """Return whether the channel is closed: virtual transports set `closed`, py-amqp drops the connection."""
    return getattr(channel, "closed", False) or channel.connection is None
