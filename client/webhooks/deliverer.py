"""Delivery of queued events: signed calls, at least once, with growing pauses for about a day.

Each attempt of a delivery has the same `webhook-id`, so a receiver can drop repetitions. A delivery that is being attempted is
claimed: if the worker dies, another one attempts it when the claim ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from ...agents.remote.http_call import HttpTarget
from ...agents.remote.webhook import post_webhook, signed_headers
from ...models.errors import AgentError, InvalidInput, RedisUnavailable
from ...models.text.redact import one_line
from ...state.webhooks import DeliveryState, WebhookDelivery, WebhookStore
from .call_threads import CallThreads
from .webhooks_file import WebhookEntry, WebhooksConfig

log = logging.getLogger(__name__)

#: Maximum number of parallel calls of a process, and of those to one webhook, which may answer slowly.
_MAX_CALLS, _MAX_CALLS_OF_ONE = 8, 4
#: Milliseconds until the last retry, and maximum between two.
RETRY_FOR_MS, MAX_DELAY_MS = 86_400_000, 3_600_000
#: Milliseconds for which a delivery is claimed: longer than a call may take.
HOLD_MS = 90_000
#: Milliseconds until a delivery is checked again whose webhook has no free call.
_BUSY_MS = 10_000
#: Maximum number of claims of a sweep: if a webhook is slow, each may find deliveries that cannot start.
_MAX_CLAIMS = 50
#: Maximum characters of an error.
_MAX_ERROR = 300


def post_event(config: WebhooksConfig, name: str, delivery_id: str, body: str) -> None:
    """Call a webhook once.

    Raises:
        InvalidInput: There is no such webhook, or a variable is not set.
        AgentFailed: It is not delivered.
    """
    entry = config.webhook(name)
    data = body.encode()
    headers = signed_headers(config.secret(entry.secret_env), delivery_id, data, now_s=int(time.time()))
    target = HttpTarget(url_of(config, entry), entry.timeout_s, entry.networks)
    post_webhook(target, data, headers)


def url_of(config: WebhooksConfig, entry: WebhookEntry) -> str:
    """Return the URL of a webhook. Raises InvalidInput: its variable is not set, or has no such URL."""
    if entry.url is not None:
        return entry.url
    variable = entry.url_env or ""
    url = config.secret(variable).strip()
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        is_url = False
    if not (is_url and url.isascii() and url.isprintable() and " " not in url):
        raise InvalidInput("environment", variable, "must hold an http or https URL without a user")
    return url


class WebhookDeliverer:
    """Delivery of the queued events of an installation.

    Args:
        config: Returns the current webhooks.
        store: The deliveries.
        first_delay_ms: Milliseconds before the first retry.
        hold_ms: Milliseconds for which a delivery is claimed.
        fault_hook: Called at each boundary of a delivery with its name; in production it does nothing.
    """

    def __init__(
        self,
        config: Callable[[], WebhooksConfig],
        store: WebhookStore,
        *,
        first_delay_ms: int,
        hold_ms: int = HOLD_MS,
        fault_hook: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._config = config
        self._store = store
        self._first_delay_ms = first_delay_ms
        self._hold_ms = hold_ms
        self._fault_hook = fault_hook
        self._calls = CallThreads("symposia-webhook", most=_MAX_CALLS, most_of_one=_MAX_CALLS_OF_ONE)

    def sweep(self) -> int:
        """Start the calls that are due, each in a thread; return their number. Raises RedisUnavailable."""
        if not self._config().webhooks:
            return 0
        started = 0
        for _ in range(_MAX_CLAIMS):
            if (free := self._calls.free) <= 0:
                break
            claimed = self._store.queue.claim(limit=free, hold_ms=self._hold_ms)
            for delivery_id in claimed:
                started += self._start(delivery_id)
            if len(claimed) < free:
                break
        return started

    def _start(self, delivery_id: str) -> bool:
        delivery = self._store.get(delivery_id)
        if delivery is None or delivery.state is not DeliveryState.WAITING:
            self._store.queue.remove(delivery_id)
            return False
        if not self._calls.start(delivery.webhook, partial(self._run, delivery)):
            self._store.queue.postpone(delivery_id, _BUSY_MS)
            return False
        return True

    def _run(self, delivery: WebhookDelivery) -> None:
        try:
            self.attempt(delivery)
        except RedisUnavailable as error:
            log.warning("delivery %s to webhook %s, will retry: %s", delivery.id, delivery.webhook, error)

    def attempt(self, delivery: WebhookDelivery) -> None:
        """Attempt a delivery once, and record its end. Raises RedisUnavailable."""
        self._fault_hook("before-call")
        try:
            post_event(self._config(), delivery.webhook, delivery.id, delivery.body)
        except (AgentError, InvalidInput) as error:
            self._failed(delivery, one_line(str(error))[:_MAX_ERROR], getattr(error, "retry_after_s", None))
        except Exception as error:  # a failed attempt like others: otherwise it would be repeated forever
            log.exception("unexpected error in delivery %s to webhook %s", delivery.id, delivery.webhook)
            self._failed(delivery, f"unexpected {type(error).__name__}", None)
        else:
            self._fault_hook("after-call")
            self._store.end_attempt(delivery, DeliveryState.DELIVERED)

    def _failed(self, delivery: WebhookDelivery, why: str, retry_after_s: float | None) -> None:
        delay_ms = self._first_delay_ms * 2 ** min(delivery.attempts, 20)
        delay_ms = min(max(delay_ms, int((retry_after_s or 0) * 1000)), MAX_DELAY_MS)
        about = delivery.event, delivery.id, delivery.webhook
        if delivery.webhook not in self._config().webhooks or self._store.now_ms() + delay_ms > (
            delivery.since_ms + RETRY_FOR_MS
        ):
            log.error("delivery of %s %s to webhook %s failed, giving up: %s", *about, why)
            self._store.end_attempt(delivery, DeliveryState.FAILED, error=why)
            return
        log.warning(
            "delivery of %s %s to webhook %s failed, retrying in %d s: %s", *about, delay_ms // 1000, why
        )
        self._store.end_attempt(delivery, DeliveryState.WAITING, error=why, retry_in_ms=delay_ms)
