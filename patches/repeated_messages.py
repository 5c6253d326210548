"""Messages of one Celery task that differ in their ids only, made from one that Celery and kombu made.

A program that submits sessions sends the same task again and again, with other ids. Celery 5.7.0 and kombu 5.7.0 take
half a millisecond of CPU to make and send such a message and its event `task-sent`, in two round trips: a third of a
submission. `RepeatedMessages` lets them make one message of made-up ids, records the commands that would send it, and
then sends them with other ids, those of many messages in one round trip. Upstream: the design of Celery, no issue.
Remove it when `test_celery_takes_two_round_trips_for_a_message` fails.

It returns False, and the caller sends through Celery, if a message may be more than its ids: there are receivers of the
signals of publishing, `send_task` is wrapped (as by Sentry), a Celery task is running, the app has another `amqp` class or
broker, or the process is a worker, which sends its events together (`celery_events.py`).
"""

from __future__ import annotations

import json
import os
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from celery import Celery, signals

from ..models.text.ids import new_id
from .kombu_transport import OneClientChannel, OneClientMessages, OneClientSentinelChannel

#: Seconds after which a message is recorded again: settings of the app may have changed, or the offset of local time.
_REFRESH_S = 60.0
#: A time that no other number in a message contains.
_MADE_UP_MS = 8_642_097_531_864_209
_SIGNALS = (signals.before_task_publish, signals.after_task_publish, signals.task_sent)


class MessageIds(NamedTuple):
    """What differs between the messages of a task."""

    #: Id of the Celery task.
    id: str
    #: When it is sent, in milliseconds since the epoch.
    sent_ms: int


@dataclass(frozen=True, slots=True)
class _Command:
    """A recorded command; envelope and body are templates for `%`."""

    name: str
    key: str
    envelope: str
    body: str

    def payload(self, values: Mapping[str, object]) -> str:
        body = b64encode((self.body % values).encode()).decode()
        return self.envelope % {**values, "body": body, "tag": new_id()}


class _NotRecorded(Exception):
    """kombu sends another command: the queue expires, or this connection has not declared it."""


class _Recorder:
    """A client of redis-py that records what kombu sends with it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []

    def lpush(self, key: str, payload: str) -> None:
        self.sent.append(("lpush", key, payload))

    def publish(self, topic: str, payload: str) -> None:
        self.sent.append(("publish", topic, payload))

    def __getattr__(self, name: str) -> Any:
        raise _NotRecorded(name)


class _Recorded(NamedTuple):
    """Commands that send a message."""

    #: When they were recorded, by `time.monotonic()`.
    at_s: float
    commands: list[_Command]
    #: How often they are sent again; None: never.
    retry_policy: Mapping[str, Any] | None


class _Thread(threading.local):
    """What a thread has recorded, by kind of message: a message names the thread that sent it."""

    process = 0

    def __init__(self) -> None:
        self.recorded: dict[str, _Recorded] = {}


class RepeatedMessages:
    """Sender of the messages of one Celery task."""

    def __init__(self) -> None:
        self._thread = _Thread()

    def send(
        self,
        app: Celery,
        kind: str,
        messages: Sequence[MessageIds],
        send_through_celery: Callable[[Any, MessageIds], None],
    ) -> bool:
        """Send messages of one kind in one round trip; return False if they must be sent through Celery.

        Args:
            app: The app.
            kind: Name of all that the messages have in common.
            messages: The ids of each.
            send_through_celery: Sends one with a producer.

        Raises:
            kombu.exceptions.OperationalError: The broker is unavailable. Some of them may have been sent.
        """
        amqp: Any = app.amqp
        if not isinstance(amqp, OneClientMessages) or amqp.sent_events.is_attached or _is_watched(app):
            return False
        with (
            app.producer_or_acquire() as producer,
            producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
        ):
            if app.conf.task_publish_retry:  # as `Producer.publish`, before the connection is used
                producer.connection.transport_options.update(app.conf.task_publish_retry_policy)
            recorded = self._find(app, producer, kind, send_through_celery)
            if recorded is None:
                return False
            clock: Any = app.clock  # type: ignore[attr-defined]

            def send_all() -> None:
                values = [
                    {**ids._asdict(), "clock": clock.forward(), "time": repr(time.time())} for ids in messages
                ]
                with producer.channel.conn_or_acquire() as client:
                    pipeline = client.pipeline(transaction=False)
                    for command in recorded.commands:
                        payloads = [command.payload(one) for one in values]
                        if command.name == "lpush":
                            pipeline.lpush(command.key, *payloads)
                        else:
                            for payload in payloads:
                                pipeline.publish(command.key, payload)
                    pipeline.execute()

            if recorded.retry_policy is None:
                send_all()
            else:  # as `Producer.publish`
                producer.connection.ensure(producer, send_all, **recorded.retry_policy)()
        return True

    def _find(
        self, app: Celery, producer: Any, kind: str, send_through_celery: Callable[[Any, MessageIds], None]
    ) -> _Recorded | None:
        """Return what sends a message of a kind; record it if that is not known, or was long ago."""
        thread, now = self._thread, time.monotonic()
        if thread.process != os.getpid():
            thread.recorded.clear()
            thread.process = os.getpid()
        known = thread.recorded.get(kind)
        if known is not None and now < known.at_s + _REFRESH_S:
            return known
        if not issubclass(
            producer.connection.get_transport_cls().Channel, OneClientChannel | OneClientSentinelChannel
        ):
            return None
        try:
            commands, others = (_record(producer, send_through_celery) for _ in range(2))
        except (_NotRecorded, ValueError, LookupError):
            return None
        if commands != others or [command.name for command in commands[:1]] != ["lpush"]:
            return None  # more than the ids differs
        policy = dict(app.conf.task_publish_retry_policy) if app.conf.task_publish_retry else None
        recorded = thread.recorded[kind] = _Recorded(now, commands, policy)
        return recorded


def _is_watched(app: Celery) -> bool:
    """Return whether another program changes or counts each message, or an enclosing Celery task is its parent."""
    send: Any = type(app).send_task
    is_own = getattr(send, "__globals__", {}).get("__name__") == Celery.__module__
    return not is_own or app.current_worker_task is not None or any(signal.receivers for signal in _SIGNALS)


def _record(producer: Any, send_through_celery: Callable[[Any, MessageIds], None]) -> list[_Command]:
    """Return the commands that send a message of made-up ids. Raises _NotRecorded, ValueError or LookupError."""
    made_up, recorder = MessageIds(new_id(), _MADE_UP_MS), _Recorder()
    with producer.channel.recording(recorder):
        send_through_celery(producer, made_up)
    return [_command(*sent, made_up) for sent in recorder.sent]


def _command(name: str, key: str, payload: str, made_up: MessageIds) -> _Command:
    envelope = json.loads(payload)
    body = json.loads(b64decode(envelope["body"]))
    envelope["body"], envelope["properties"]["delivery_tag"] = "<body>", "<tag>"
    if name == "publish":  # an event
        body["clock"], body["timestamp"] = "<clock>", "<time>"
    return _Command(name, key, _template(envelope, made_up), _template(body, made_up))


def _template(data: object, made_up: MessageIds) -> str:
    text = json.dumps(data).replace("%", "%%")
    for name in ("body", "tag"):
        text = text.replace(f"<{name}>", f"%({name})s")
    for name in ("clock", "time"):
        text = text.replace(f'"<{name}>"', f"%({name})s")
    for name, value in made_up._asdict().items():
        text = text.replace(str(value), f"%({name})s")
    return text
