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
from typing import Any

from celery.app.control import Control
from celery.app.events import Events
from celery.events import EventReceiver
from kombu.clocks import LamportClock
from kombu.pidbox import Mailbox, Node

from .broker_messages import RefusedMessage

log = logging.getLogger(__name__)

#: Largest clock that is believed: a counter of messages does not reach it.
_MAX_CLOCK = 2**53
#: Longest name of a worker or pattern for one.
_MAX_NAME = 255


class BoundedClock(LamportClock):
    """Celery's clock, which ignores what cannot be one."""

    def adjust(self, other: Any) -> int:
        """As in LamportClock."""
        return super().adjust(other) if type(other) is int and other <= _MAX_CLOCK else self.forward()


def _check(what: str, value: object, *kinds: type | None) -> None:
    """Raise RefusedMessage for a value of another kind."""
    if not any(value is None if kind is None else isinstance(value, kind) for kind in kinds):
        raise RefusedMessage(f"{what} must not be {type(value).__name__}")


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
        _check("a command", body, dict)
        _check("method", body.get("method"), str)
        _check("arguments", body.get("arguments"), dict, None)
        _check("destination", body.get("destination"), list, None)
        _check("ticket", body.get("ticket"), str, None)
        for name in ("pattern", "matcher"):
            _check(name, body.get(name), str, None)
        # A regular expression could take years.
        if body.get("matcher") not in (None, "glob") or len(body.get("pattern") or "") > _MAX_NAME:
            raise RefusedMessage(f"matcher must be glob, with a pattern of at most {_MAX_NAME} characters")
        reply_to = body.get("reply_to")
        _check("reply_to", reply_to, dict, None)
        if reply_to:
            _check("routing_key of reply_to", reply_to.get("routing_key"), str)
            if reply_to.get("exchange") != self.mailbox.reply_exchange.name:
                raise RefusedMessage(f"exchange of reply_to must be {self.mailbox.reply_exchange.name}")


class CheckedMailbox(Mailbox):
    """kombu's mailboxes, with `CheckedNode`, and without replies that are none."""

    node_cls = CheckedNode

    def _collect(self, *args: Any, **options: Any) -> Any:
        replies = super()._collect(*args, **options)
        return [it for it in replies if isinstance(it, dict)]


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
        _check("an event", body, dict)
        _check("type", body.get("type"), str)
        _check("hostname", body.get("hostname"), str)
        if body["type"].startswith("task-"):
            _check("uuid", body.get("uuid"), str)
        for name in _TEXTS:
            _check(name, body.get(name), str, None)
        for name in _NUMBERS:
            _check(name, body.get(name), int, float, None)
        if type(body.get("clock", 0)) is not int or not 0 <= body.get("clock", 0) <= _MAX_CLOCK:
            raise RefusedMessage("clock must be a number of messages")
        return super().event_from_message(body, *args, **options)


class CheckedEvents(Events):
    """Celery's events of an app, with `CheckedReceiver`."""

    receiver_cls = "symposia.patches.control_messages:CheckedReceiver"
