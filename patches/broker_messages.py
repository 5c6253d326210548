"""Checks of everything that a process receives from the broker, before kombu and Celery use it.

Unreadable envelopes: kombu's Redis transport 5.7.0 trusts the envelope of a message. One that is no JSON object, is
nested too deep or lacks a part raises inside the event loop, and a worker ends: two bytes (`[]`) published to the
channel of the broadcasts ended all workers. `ReadableChannel` and `ReadableTransport` drop such messages. Upstream:
celery/kombu#582 and celery/celery#4308 (closed) have the same effect for messages in a queue; no open issue found.

Unusable contents: what no consumer acknowledges (broadcasts, replies to them, events) is handed to Celery's code, which
raises for a missing or wrong field, with any broker. `ReadableChannel` drops those, too. Tasks are acknowledged;
`RejectingConsumer` checks them.

AMQP headers: py-amqp 5.4.2 reads the headers of a message while it reads the socket, and nested tables one function
call each. Headers that are nested too deep end a worker, and RabbitMQ gives the message to the next one.
`read_headers_safely` reads them as none. Upstream: no issue found.

Size limit: messages of Symposia have a few hundred bytes. JSON takes up to twenty times its length once it is
decoded, and compressed text a thousand times, so one message could fill a worker's memory. Upstream: kombu
5.7.0 has no limit, no issue found. Remove the limit when `test_kombu_decompresses_without_a_limit` fails, if
the new limit can be set.

Remove the other parts when `test_celery_worker_ends_on_a_malformed_broadcast` and
`test_py_amqp_cannot_read_deep_headers` fail.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from queue import Empty
from typing import Any

from amqp import basic_message, method_framing
from amqp.exceptions import AMQPError, PreconditionFailed
from kombu import compression
from kombu.transport import pyamqp, virtual

from ..models.errors import UnsuitableQueue

log = logging.getLogger(__name__)

#: Maximum bytes of a message as received from the broker.
MAX_MESSAGE_BYTES = 1_048_576
#: Errors of code that reads a malformed value.
_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class RefusedMessage(ValueError):
    """Error for a message that is too large, compressed or malformed."""


def is_oversized(raw: object) -> bool:
    """Return whether a received message is longer than `MAX_MESSAGE_BYTES`."""
    return isinstance(raw, (bytes, str, memoryview)) and len(raw) > MAX_MESSAGE_BYTES


def check_size(raw: Any) -> None:
    """Raise RefusedMessage for a message that is too large."""
    if is_oversized(raw):
        raise RefusedMessage(f"{len(raw):,} bytes exceed the limit of {MAX_MESSAGE_BYTES:,}")


def check_popped(client: Any) -> Any:
    """Make a redis-py client check the messages that it pops from a queue, before kombu decodes them; return it."""
    usual: Callable[..., Any] = client.response_callbacks["BRPOP"]

    def checked(reply: Any, **options: Any) -> Any:
        if reply:
            check_size(reply[1])
        return usual(reply, **options)

    client.set_response_callback("BRPOP", checked)
    return client


def refuse_compressed() -> None:
    """Make kombu refuse compressed messages in this process. Symposia sends none."""
    for name in compression.encoders():
        registered: Any = compression.get_encoder(name)  # a pair, contrary to its annotation
        encoder, content_type = registered
        compression.register(encoder, _refuse, content_type)


def _refuse(_: object) -> bytes:
    raise RefusedMessage("compressed messages are not accepted")


def describe_error(error: Exception) -> str:
    """Return a text for the log: without the message, which may be long or secret."""
    return str(error) if isinstance(error, RefusedMessage) else type(error).__name__


def is_broker_lost(error: Exception, errors: tuple[type[Exception], ...]) -> bool:
    """Return whether the broker is unavailable. A KeyError is a missing part, but kombu includes it."""
    return isinstance(error, errors) and not isinstance(error, KeyError)


def check_kind(what: str, value: object, *kinds: type | None) -> None:
    """Raise RefusedMessage for a value of another kind; None as a kind is the value None."""
    if not any(value is None if kind is None else isinstance(value, kind) for kind in kinds):
        raise RefusedMessage(f"{what} must not be {type(value).__name__}")


def check_task(message: Any) -> None:
    """Check that a message is a Celery task: all that Celery reads of it before a pool takes it.

    Raises:
        RefusedMessage: It is not; the error names the part.
    """
    check_size(message.body)
    headers = message.headers
    for name in ("task", "id"):
        check_kind(f"header {name}", headers.get(name), str)
    for name in ("eta", "expires", "shadow", "root_id", "parent_id"):
        check_kind(f"header {name}", headers.get(name), str, None)
    limits = headers.get("timelimit") or (None, None)
    check_kind("header timelimit", limits, list, tuple)
    if len(limits) != 2:
        raise RefusedMessage("header timelimit must have two parts")
    for limit in limits:
        check_kind("a part of header timelimit", limit, int, float, None)
    try:
        body = message.payload
    except Exception as error:
        # Also kombu's ContentDisallowed, and what a codec of the message's choice raises.
        raise RefusedMessage(f"the body cannot be decoded ({type(error).__name__})") from error
    check_kind("the body", body, list)
    if len(body) != 3:
        raise RefusedMessage("the body must have three parts")
    for part, kinds in zip(body, ((list,), (dict,), (dict, None)), strict=True):
        check_kind("a part of the body", part, *kinds)


class ReadableMessage(virtual.Message):
    """kombu's message of a virtual transport.

    Raises:
        RefusedMessage: The envelope lacks a part, or one is of another kind.
    """

    def __init__(self, payload: Any, channel: Any = None, **options: Any) -> None:
        try:
            super().__init__(payload, channel=channel, **options)
            hash(self.delivery_tag)
            for part in (self.headers, self.properties, self.delivery_info):
                part.items()
        except _UNREADABLE as error:
            raise RefusedMessage(f"the envelope cannot be read ({type(error).__name__})") from error


class ReadableTransport:
    """Mixin of kombu's virtual transports: knows whether a received message was handed to its consumer."""

    is_handed_on = False

    def _deliver(self, message: Any, queue: str) -> None:
        self.is_handed_on = True
        super()._deliver(message, queue)  # type: ignore[misc]


class _DroppingChannel:
    """Mixin of kombu's channels: drops unusable messages that nobody acknowledges."""

    connection: Any

    def basic_consume(
        self, queue: str, *args: Any, callback: Any = None, no_ack: bool = False, **how: Any
    ) -> Any:
        """As in Channel."""
        if no_ack:
            callback = self._drop_unusable(callback)
        return super().basic_consume(queue, *args, callback=callback, no_ack=no_ack, **how)  # type: ignore[misc]

    def _drop_unusable(self, receive: Callable[[Any], object]) -> Callable[[Any], object]:
        broker = self.connection
        errors = (*broker.connection_errors, *broker.channel_errors)

        def received(message: Any) -> object:
            try:
                check_size(message.body)
                return receive(message)
            except Exception as error:
                if is_broker_lost(error, errors):
                    raise
                log.error("dropping malformed broadcast, reply or event: %s", describe_error(error))
                return None

        return received


class ReadableChannel(_DroppingChannel):
    """Mixin of kombu's Redis channels: drops messages that cannot be read, without ending the event loop."""

    Message = ReadableMessage

    def _brpop_read(self, **options: Any) -> Any:
        read = super()._brpop_read  # type: ignore[misc]
        return self._drop_unreadable(lambda: read(**options))

    def _receive_one(self, client: Any) -> Any:
        receive = super()._receive_one  # type: ignore[misc]
        return self._drop_unreadable(lambda: receive(client))

    def _handle_message(self, client: Any, reply: Any) -> Any:
        message = super()._handle_message(client, reply)  # type: ignore[misc]
        check_size(message["data"])
        return message

    def _drop_unreadable(self, read: Callable[[], object]) -> object:
        self.connection.is_handed_on = False
        try:
            return read()
        except Empty:
            raise
        except _UNREADABLE as error:
            if self.connection.is_handed_on and not isinstance(error, RefusedMessage):
                raise
            # The message is not logged: it may be long. It is no longer in the queue.
            log.error("dropping malformed broker message: %s", describe_error(error))
            return True


class ReadableAmqpChannel(_DroppingChannel, pyamqp.Channel):  # type: ignore[misc]
    """kombu's channel to RabbitMQ, which drops unusable messages that nobody acknowledges."""

    def queue_declare(self, queue: str = "", *args: Any, **options: Any) -> Any:
        """As in Channel.

        Raises:
            UnsuitableQueue: The queue exists with another type. Celery would try to declare it for ever.
        """
        try:
            return super().queue_declare(queue, *args, **options)
        except PreconditionFailed as error:
            raise UnsuitableQueue(queue, detail=error.reply_text or "") from error


class ReadableAmqpConnection(pyamqp.Connection):
    """kombu's connection to RabbitMQ, with `ReadableAmqpChannel`."""

    Channel = ReadableAmqpChannel


class ReadableAmqpTransport(pyamqp.Transport):
    """kombu's transport to RabbitMQ, with `ReadableAmqpChannel`."""

    Connection = ReadableAmqpConnection


class ReadableAmqpTlsTransport(pyamqp.SSLTransport):
    """kombu's transport to RabbitMQ over TLS, with `ReadableAmqpChannel`."""

    Connection = ReadableAmqpConnection


class _ReadableHeaders(basic_message.Message):
    def _load_properties(self, class_id: int, buf: bytes, offset: int) -> int:
        try:
            return super()._load_properties(class_id, buf, offset)  # type: ignore[misc,no-any-return]
        except (*_UNREADABLE, struct.error, AMQPError) as error:
            log.error("ignoring headers and properties of a message: %s", describe_error(error))
            self.properties = {}
            return offset


def read_headers_safely() -> None:
    """Let the AMQP connections of this process read headers that cannot be read as none."""
    method_framing.Message = _ReadableHeaders  # type: ignore[misc]
