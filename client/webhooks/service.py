"""Webhooks for programs and the command line.

from symposia import Client

webhooks = Client().webhooks
webhooks.test("ops")
for delivery in webhooks.deliveries(failed=True):
    webhooks.send("ops", delivery.id)
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from ...models.errors import AgentError, AmbiguousId, DeliveryFailed, InvalidInput
from ...models.text.ids import moment_from_ms, new_id
from ...state.hooks import HookQueue, HookWork
from ...state.webhooks import DeliveryState, WebhookDelivery, WebhookStore
from .code_host_events import (
    CodeHostName,
    Request,
    comment_fields,
    delivery_id,
    is_genuine,
    read_event,
    read_request,
)
from .deliverer import post_event, url_of
from .events import event_body
from .webhooks_file import EventType, WebhooksConfig


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """A configured webhook, and its deliveries of the last week."""

    name: str
    #: Host of its URL; empty: its variable is not set in this process.
    host: str
    events: tuple[str, ...]
    #: Only sessions of this tenant; None: all.
    tenant: str | None
    waiting: int
    delivered: int
    failed: int

    def to_json(self) -> dict[str, Any]:
        """Return the webhook as data."""
        return asdict(self)


def delivery_json(delivery: WebhookDelivery) -> dict[str, Any]:
    """Return a delivery as data."""
    return {
        "id": delivery.id,
        "webhook": delivery.webhook,
        "event": delivery.event,
        "subject": delivery.subject,
        "state": delivery.state.value,
        "created": moment_from_ms(delivery.created_ms).isoformat(),
        "tried": moment_from_ms(delivery.tried_ms).isoformat() if delivery.tried_ms else None,
        "attempts": delivery.attempts,
        "error": delivery.error,
        "body": delivery.body,
    }


class Receipt(StrEnum):
    """What was done with an event of a code host."""

    QUEUED = "queued"
    #: It was received before; nothing was done.
    REPEATED = "repeated"
    #: It asks for nothing that the hook does.
    IGNORED = "ignored"
    #: The queue is full; the host may send it again.
    FULL = "full"
    #: The signature or the token is not that of the hook.
    REFUSED = "refused"
    #: There is no such hook.
    UNKNOWN = "unknown"


class Webhooks:
    """The webhooks of one installation. `config` returns those of the webhooks file."""

    def __init__(self, config: Callable[[], WebhooksConfig], store: WebhookStore, hooks: HookQueue) -> None:
        self._config = config
        self._store = store
        self._hooks = hooks

    def entries(self) -> list[WebhookStatus]:
        """Return the configured webhooks, by name.

        Returns:
            The webhooks, with the number of their deliveries of the last week.

        Raises:
            InvalidInput: The webhooks file breaks a rule.
            RedisUnavailable: Redis does not answer.
        """
        config = self._config()
        counts = (
            Counter((it.webhook, it.state) for it in self._store.deliveries())
            if config.webhooks
            else Counter()
        )
        return [
            WebhookStatus(
                name=name,
                host=_host(config, name),
                events=tuple(event.value for event in entry.events),
                tenant=entry.tenant,
                waiting=counts[name, DeliveryState.WAITING],
                delivered=counts[name, DeliveryState.DELIVERED],
                failed=counts[name, DeliveryState.FAILED],
            )
            for name, entry in sorted(config.webhooks.items())
        ]

    def deliveries(
        self, name: str | None = None, *, failed: bool = False, count: int = 100
    ) -> list[WebhookDelivery]:
        """Return deliveries of the last week, newest first.

        Args:
            name: Only those to this webhook. None: to all.
            failed: Only those that failed permanently.
            count: Maximum number of deliveries.

        Returns:
            The deliveries.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        found = (
            delivery
            for delivery in self._store.deliveries()
            if name in (None, delivery.webhook) and (not failed or delivery.state is DeliveryState.FAILED)
        )
        return [*islice(found, count)]

    def send(self, name: str, delivery: str) -> WebhookDelivery:
        """Queue a failed delivery again, with the same id and body. Workers send it.

        Args:
            name: The webhook.
            delivery: Id of the delivery, or the beginning of it.

        Returns:
            The delivery as it was.

        Raises:
            AmbiguousId: Several deliveries have ids that start with this.
            InvalidInput: There is no such webhook or delivery, or its body is deleted.
            RedisUnavailable: Redis does not answer.
        """
        self._config().webhook(name)
        fitting = [it for it in self._store.deliveries() if it.webhook == name and it.id.startswith(delivery)]
        if len(fitting) > 1:
            raise AmbiguousId(delivery, [it.id for it in fitting], kind="deliveries")
        word = self._store.send_again(fitting[0]) if fitting else "missing"
        if word == "bodiless":
            rule = "has no body: it was delivered, or did not fit into the queue"
            raise InvalidInput("delivery", delivery, rule)
        if word == "missing":
            raise InvalidInput("delivery", delivery, f"must be a delivery of the webhook {name}")
        return fitting[0]

    def receive(self, host: str, name: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """Take an event that a code host has sent, and queue what it asks for. Workers do it.

        Args:
            host: `github` or `gitlab`.
            name: The hook, as in the webhooks file.
            headers: Headers of the request.
            body: Its body, as it was sent.

        Returns:
            What was done with it.

        Raises:
            InvalidInput: The event is not JSON, or not of the repository of the hook.
            RedisUnavailable: Redis does not answer; the host may send the event again.
        """
        config, kind = self._config(), CodeHostName(host)
        entry = config.hooks.get(name)
        if entry is None:
            return Receipt.UNKNOWN
        headers = {name.lower(): value for name, value in headers.items()}
        if not is_genuine(kind, config.secret(entry.secret_env), headers, body):
            return Receipt.REFUSED
        data = read_event(body)
        request = read_request(kind, data, entry.repository)
        digest = sha256(name.encode() + b"|" + body).hexdigest()
        if request is Request.REVIEW and entry.review is not None:
            work, stored = HookWork("review", name), ""
        elif request is Request.COMMENT and entry.deliver is not None:
            work = HookWork("comment", name, digest)
            stored = json.dumps({"received_ms": int(time.time() * 1000), "event": comment_fields(data)})
        else:
            return Receipt.IGNORED
        seen = [digest]
        if given := delivery_id(kind, headers):
            seen.append(sha256(f"{host}|{name}|{given}".encode()).hexdigest())
        return Receipt(self._hooks.receive(work, stored, seen=seen))

    def test(self, name: str) -> float:
        """Send an event of the type `webhook.test` from this process, which needs the secret.

        Args:
            name: The webhook.

        Returns:
            The seconds that the call took.

        Raises:
            DeliveryFailed: It is not delivered.
            InvalidInput: There is no such webhook, or an environment variable is not set.
        """
        body = event_body(EventType.TEST, int(time.time() * 1000), {"webhook": name})
        begun_s = time.monotonic()
        try:
            post_event(self._config(), name, new_id(), body)
        except AgentError as error:
            raise DeliveryFailed(str(error), retryable=error.retryable) from None
        return time.monotonic() - begun_s


def _host(config: WebhooksConfig, name: str) -> str:
    try:
        return urlsplit(url_of(config, config.webhook(name))).hostname or ""
    except InvalidInput:
        return ""
