"""Checks of Celery's control commands, their replies, and events about workers and tasks.

Celery 5.7.0 and kombu 5.7.0 trust the contents of these messages. A command without a field raises in the mailbox, and
the worker opens it again; a reply that is no object ends `celery inspect`, and a worker that starts and looks for its
neighbours; an event whose clock is a text stays in the state of Flower or of a worker and makes each later comparison
fail; a clock with 4,300 digits is adopted, and then no message of this process can be written. Whoever may write to the
broker may send all of them. Upstream: no issue found. Remove this module when
`test_celery_trusts_control_messages` fails.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from celery.app.control import Control
from celery.app.events import Events
from celery.events import EventReceiver
from celery.utils.serialization import strtobool
from celery.worker.control import Panel
from kombu.clocks import LamportClock
from kombu.pidbox import Mailbox, Node

from .broker_messages import RefusedMessage, check_kind

log = logging.getLogger(__name__)

#: Largest clock that is believed: a counter of messages does not reach it.
_MAX_CLOCK = 2**53
#: The pool whose processes Celery can end and limit.
PREFORK = "prefork"
#: Pools whose size Celery can change.
RESIZABLE = (PREFORK, "eventlet", "gevent")
#: Longest name of a worker or pattern for one.
_MAX_NAME = 255


class BoundedClock(LamportClock):
    """Celery's clock, which ignores what cannot be one."""

    def adjust(self, other: Any) -> int:
        """As in LamportClock."""
        return super().adjust(other) if type(other) is int and other <= _MAX_CLOCK else self.forward()


def _refusal(method: str, arguments: Mapping[str, Any], state: Any) -> str | None:
    """Return why a worker does not obey a command that its pool or its options do not support."""
    kind, conf = pool_name(type(state.consumer.pool)), state.app.conf
    match method:
        case "pool_grow" | "pool_shrink" if kind not in RESIZABLE:
            return f"the pool {kind} has a fixed size: restart the worker with another --concurrency"
        case "pool_restart" if not conf.worker_pool_restarts or kind != PREFORK:
            return "the pool is not restarted while the worker runs: restart the worker (SIGHUP)"
        case "autoscale" if not state.consumer.controller.autoscaler:
            return f"needs a worker of the pool {PREFORK} that was started with --autoscale"
        case "time_limit" if kind != PREFORK:
            return f"Celery's time limits need the pool {PREFORK}: set the deadline of turns (turn_timeout_s)"
        case "terminate" if kind != PREFORK:
            return f"a task of the pool {kind} cannot be terminated: cancel its session"
        case "revoke" | "revoke_by_stamped_headers" if arguments.get("terminate") and kind != PREFORK:
            return f"a task of the pool {kind} cannot be terminated: cancel its session, or revoke without terminate"
    return None


def pool_name(pool: type) -> str:
    """Return the name of a pool as in `celery worker --pool`."""
    name = pool.__module__.rpartition(".")[2]
    return {"thread": "threads"}.get(name, name)


class CheckedNode(Node):
    """kombu's mailbox of a worker, which ignores malformed commands."""

    mailbox: Any

    def handle_message(self, body: Any, message: Any = None) -> Any:
        """As in Node."""
        try:
            self._check(body)
        except RefusedMessage as error:
            log.error("ignoring malformed control command: %s", error)
            return None
        return super().handle_message(body, message)

    def _check(self, body: Any) -> None:
        check_kind("a command", body, dict)
        check_kind("method", body.get("method"), str)
        check_kind("arguments", body.get("arguments"), dict, None)
        check_kind("destination", body.get("destination"), list, None)
        check_kind("ticket", body.get("ticket"), str, None)
        for name in ("pattern", "matcher"):
            check_kind(name, body.get(name), str, None)
        # A regular expression could take years.
        if body.get("matcher") not in (None, "glob") or len(body.get("pattern") or "") > _MAX_NAME:
            raise RefusedMessage(f"matcher must be glob, with a pattern of at most {_MAX_NAME} characters")
        reply_to = body.get("reply_to")
        check_kind("reply_to", reply_to, dict, None)
        if reply_to:
            check_kind("routing_key of reply_to", reply_to.get("routing_key"), str)
            if reply_to.get("exchange") != self.mailbox.reply_exchange.name:
                raise RefusedMessage(f"exchange of reply_to must be {self.mailbox.reply_exchange.name}")

    def handle(self, method: str, arguments: Any = None) -> Any:
        """As in Node. Answers in one line what it does not do, or why arguments are wrong."""
        arguments = arguments or {}
        try:
            _check_arguments(method, arguments)
        except RefusedMessage as error:
            reason: str | None = str(error)
        else:
            reason = _refusal(method, arguments, self.state)
        if reason is None:
            return super().handle(method, arguments)
        log.warning("refusing control command %s: %s", method, reason)
        # A step of a canvas waits in no process: there is nothing to terminate, and its session is cancelled.
        cancel = getattr((self.handlers or {}).get("revoke"), "cancel", None)
        if method in ("revoke", "terminate") and cancel is not None and self.state is not None:
            cancel(self.state.app, arguments.get("task_id"))
        return {"error": reason}


def _check_arguments(method: str, arguments: dict[str, Any]) -> None:
    """Raise RefusedMessage for an argument of a wrong type: some commands use it later, in the event loop."""
    commands = [info for name, info in Panel.meta.items() if method in (name, info.alias)]
    if not commands:
        raise RefusedMessage("unknown command")
    parameters = dict(commands[0].args or ())
    is_queue = method in ("add_consumer", "cancel_consumer")
    for name, kind in parameters.items():
        kinds = {float: (int, float), strtobool: (bool,), str: (str,) if is_queue else (str, int, float)}
        check_kind(name, arguments.get(name), *kinds.get(kind, (kind,)), None)
    if is_queue:
        check_kind("queue", arguments.get("queue"), str)
        if unknown := arguments.keys() - parameters:
            raise RefusedMessage(f"{min(unknown)} is not an argument of {method}")
        if (given := arguments.get("exchange_type")) not in (None, "direct", "topic", "fanout"):
            raise RefusedMessage(f"exchange_type must be direct, topic or fanout, not {given!r}")


class CheckedMailbox(Mailbox):
    """kombu's mailboxes, with `CheckedNode`, and without replies that are none."""

    node_cls = CheckedNode

    def _collect(self, *args: Any, **options: Any) -> Any:
        replies = super()._collect(*args, **options)
        return [reply for reply in replies if isinstance(reply, dict)]


class CheckedControl(Control):
    """Celery's remote control, with `CheckedMailbox`."""

    Mailbox = CheckedMailbox


#: Fields of events that Celery and Flower compute with: name, type.
_NUMBERS = ("timestamp", "utcoffset", "runtime", "retries", "freq", "active", "processed", "pid")
_TEXTS = ("hostname", "uuid", "name", "root_id", "parent_id", "queue", "exchange", "routing_key", "state")


class CheckedReceiver(EventReceiver):
    """Celery's receiver of events.

    Raises:
        RefusedMessage: From `event_from_message`, for a malformed event. The channel drops its message.
    """

    def event_from_message(self, body: Any, *args: Any, **options: Any) -> Any:
        """As in EventReceiver."""
        check_kind("an event", body, dict)
        check_kind("type", body.get("type"), str)
        check_kind("hostname", body.get("hostname"), str)
        if body["type"].startswith("task-"):
            check_kind("uuid", body.get("uuid"), str)
        for name in _TEXTS:
            check_kind(name, body.get(name), str, None)
        for name in _NUMBERS:
            check_kind(name, body.get(name), int, float, None)
        if type(body.get("clock", 0)) is not int or not 0 <= body.get("clock", 0) <= _MAX_CLOCK:
            raise RefusedMessage("clock must be a number of messages")
        return super().event_from_message(body, *args, **options)


class CheckedEvents(Events):
    """Celery's events of an app, with `CheckedReceiver`."""

    receiver_cls = "symposia.patches.control_messages:CheckedReceiver"
