"""Deliveries of events to webhooks in Redis: the queue, and a record of each delivery. The client must decode responses.

All keys are in one slot, so that one script queues a delivery and writes its record. Every key expires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from redis import Redis

from .redis.due_index import DueIndex
from .redis.keys import WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, webhook_delivery_key, webhook_waiting_key
from .redis.readers import server_ms
from .redis.scripts import ScriptValue, call_script

#: Maximum number of queued deliveries, of those to one webhook, and of listed ones.
MAX_QUEUED, MAX_QUEUED_OF_ONE, MAX_LISTED = 10_000, 2_000, 10_000
#: Milliseconds for which a delivery is recorded.
TTL_MS = 7 * 86_400_000
_PAGE = 200


class DeliveryState(StrEnum):
    """State of a delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A delivery of one event to one webhook. Times are in milliseconds since the epoch."""

    #: Also the header `webhook-id` of every attempt.
    id: str
    webhook: str
    event: str
    #: Id of the session or of the review.
    subject: str
    state: DeliveryState
    created_ms: int
    attempts: int
    #: Why the last attempt failed; empty: it did not.
    error: str
    #: JSON that is sent.
    body: str
    #: Time of the last attempt; 0: there was none.
    tried_ms: int
    #: Time at which the retries began.
    since_ms: int

    @classmethod
    def read(cls, delivery_id: str, fields: Mapping[str, str]) -> WebhookDelivery:
        """Return the delivery of a record. Raises LookupError, ValueError for one that another program wrote."""
        created_ms = int(fields["created_ms"])
        return cls(
            id=delivery_id,
            webhook=fields["webhook"],
            event=fields["event"],
            subject=fields["subject"],
            state=DeliveryState(fields["state"]),
            created_ms=created_ms,
            attempts=int(fields["attempts"]),
            error=fields["error"],
            body=fields["body"],
            tried_ms=int(fields.get("tried_ms", 0)),
            since_ms=int(fields.get("since_ms", created_ms)),
        )


class WebhookQueue(DueIndex):
    """Ids of queued deliveries, by the time of the next attempt."""

    KEY = WEBHOOK_QUEUE

    def postpone(self, delivery_id: str, in_ms: int) -> None:
        """Set the time of the next attempt of a claimed delivery, in milliseconds from now."""
        self._client.zadd(WEBHOOK_QUEUE, {delivery_id: server_ms(self._client) + in_ms}, xx=True)

    def remove(self, delivery_id: str) -> None:
        """Remove a delivery that is not waiting, or whose record has expired."""
        self._client.zrem(WEBHOOK_QUEUE, delivery_id)


class WebhookStore:
    """Deliveries of events in one Redis. All methods raise RedisUnavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.queue = WebhookQueue(client)

    def add(self, delivery_id: str, *, webhook: str, event: str, subject: str, body: str) -> str:
        """Queue a delivery; return `queued`, `exists` or `full`."""
        keys = [
            WEBHOOK_QUEUE,
            WEBHOOK_DELIVERIES,
            webhook_delivery_key(delivery_id),
            webhook_waiting_key(webhook),
        ]
        args: dict[str, ScriptValue] = {
            "id": delivery_id,
            "webhook": webhook,
            "event": event,
            "subject": subject,
            "body": body,
            "most": MAX_QUEUED,
            "most_of_one": MAX_QUEUED_OF_ONE,
            "most_listed": MAX_LISTED,
            "ttl_ms": TTL_MS,
        }
        return str(call_script(self._client, "webhooks/add", keys, args)[0])

    def get(self, delivery_id: str) -> WebhookDelivery | None:
        """Return a delivery; None: there is none, or it has expired."""
        fields = cast("dict[str, str]", self._client.hgetall(webhook_delivery_key(delivery_id)))
        return _read(delivery_id, fields)

    def end_attempt(
        self, delivery: WebhookDelivery, state: DeliveryState, *, error: str = "", retry_in_ms: int = 0
    ) -> None:
        """Record the end of an attempt. `retry_in_ms`: milliseconds until the next one, if the delivery is waiting."""
        keys = [
            WEBHOOK_QUEUE,
            webhook_delivery_key(delivery.id),
            webhook_waiting_key(delivery.webhook),
        ]
        args: dict[str, ScriptValue] = {
            "id": delivery.id,
            "state": state.value,
            "error": error,
            "retry_in_ms": retry_in_ms,
        }
        call_script(self._client, "webhooks/end_attempt", keys, args)

    def send_again(self, delivery: WebhookDelivery) -> bool:
        """Queue a recorded delivery again; return whether it exists."""
        keys = [
            WEBHOOK_QUEUE,
            WEBHOOK_DELIVERIES,
            webhook_delivery_key(delivery.id),
            webhook_waiting_key(delivery.webhook),
        ]
        args: dict[str, ScriptValue] = {"id": delivery.id, "ttl_ms": TTL_MS}
        return bool(call_script(self._client, "webhooks/send_again", keys, args)[0] == "queued")

    def now_ms(self) -> int:
        """Return the server's time in milliseconds since the epoch."""
        return server_ms(self._client)

    def waiting(self) -> int:
        """Return the number of queued deliveries."""
        return int(self._client.zcard(WEBHOOK_QUEUE))

    def deliveries(self) -> Iterator[WebhookDelivery]:
        """Yield the listed deliveries, newest first."""
        start = 0
        while ids := cast("list[str]", self._client.zrevrange(WEBHOOK_DELIVERIES, start, start + _PAGE - 1)):
            with self._client.pipeline(transaction=False) as pipe:
                for delivery_id in ids:
                    pipe.hgetall(webhook_delivery_key(delivery_id))
                records = pipe.execute()
            yield from filter(None, map(_read, ids, records))
            start += _PAGE


def _read(delivery_id: str, fields: Mapping[str, str]) -> WebhookDelivery | None:
    try:
        return WebhookDelivery.read(delivery_id, fields)
    except (LookupError, ValueError):
        return None
