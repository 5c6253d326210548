"""Deliveries of events to webhooks in Redis: queues, and a record of each delivery. The client must decode responses.

Each webhook has its own queue, so that those of a slow one are not in the way of others. All keys are in one slot, so that
one script queues a delivery and writes its record. Every key expires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from redis import Redis

from .redis.keys import WEBHOOK_DELIVERIES, WEBHOOK_WAITING, webhook_delivery_key, webhook_queue_key
from .redis.readers import server_ms
from .redis.scripts import ScriptValue, call_script

#: Maximum number of waiting deliveries, of those to one webhook, and of listed ones.
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
    #: JSON that is sent; empty: it was delivered, or did not fit into the queue.
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


class WebhookStore:
    """Deliveries of events in one Redis. All methods raise RedisUnavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, delivery_id: str, *, webhook: str, event: str, subject: str, body: str) -> str:
        """Queue a delivery; return `queued`, `exists` or `full`."""
        keys = _keys(webhook, delivery_id)
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
        word, *answer = call_script(self._client, "webhooks/add", keys, args)
        if answer and (unlisted := answer[0]):
            self._client.delete(*map(webhook_delivery_key, unlisted))
        return str(word)

    def get(self, delivery_id: str) -> WebhookDelivery | None:
        """Return a delivery; None: there is none, or it has expired."""
        fields = cast("dict[str, str]", self._client.hgetall(webhook_delivery_key(delivery_id)))
        return _read(delivery_id, fields)

    def claim(self, webhook: str, *, limit: int, hold_ms: int) -> list[WebhookDelivery]:
        """Claim up to `limit` due deliveries to a webhook; no other caller gets them for `hold_ms`."""
        queue, claimed = webhook_queue_key(webhook), []
        for delivery_id in call_script(
            self._client, "due_index/claim", [queue], {"limit": limit, "hold_ms": hold_ms}
        )[1]:
            delivery = self.get(delivery_id)
            if delivery is not None and delivery.state is DeliveryState.WAITING:
                claimed.append(delivery)
            else:  # the record has expired
                self._client.zrem(queue, delivery_id)
                self._client.zrem(WEBHOOK_WAITING, delivery_id)
        return claimed

    def end_attempt(
        self, delivery: WebhookDelivery, state: DeliveryState, *, error: str = "", retry_in_ms: int = 0
    ) -> None:
        """Record the end of an attempt. `retry_in_ms`: milliseconds until the next one, if the delivery is waiting."""
        args: dict[str, ScriptValue] = {
            "id": delivery.id,
            "state": state.value,
            "error": error,
            "retry_in_ms": retry_in_ms,
        }
        call_script(self._client, "webhooks/end_attempt", _keys(delivery.webhook, delivery.id), args)

    def send_again(self, delivery: WebhookDelivery) -> str:
        """Queue a recorded delivery again; return `queued`, `missing` or `bodiless`."""
        args: dict[str, ScriptValue] = {"id": delivery.id, "ttl_ms": TTL_MS}
        return str(
            call_script(self._client, "webhooks/send_again", _keys(delivery.webhook, delivery.id), args)[0]
        )

    def now_ms(self) -> int:
        """Return the server's time in milliseconds since the epoch."""
        return server_ms(self._client)

    def waiting(self) -> int:
        """Return the number of waiting deliveries."""
        return int(self._client.zcard(WEBHOOK_WAITING))

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


def _keys(webhook: str, delivery_id: str) -> list[str]:
    record = webhook_delivery_key(delivery_id)
    return [WEBHOOK_WAITING, webhook_queue_key(webhook), WEBHOOK_DELIVERIES, record]


def _read(delivery_id: str, fields: Mapping[str, str]) -> WebhookDelivery | None:
    try:
        return WebhookDelivery.read(delivery_id, fields)
    except (LookupError, ValueError):
        return None
