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
#: Seconds after which a thread takes no further delivery to its webhook, because others may wait: the interval of the loop.
_THREAD_S = 1.0
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
        started = 0
        # First the webhooks with the fewest running calls, so that slow ones do not take all.
        for name in sorted(self._config().webhooks, key=self._calls.free_of, reverse=True):
            for delivery in self._claim(name, self._calls.free_of(name)):
                started += self._calls.start(name, partial(self._run, delivery))
        return started

    def _claim(self, name: str, limit: int) -> list[WebhookDelivery]:
        return self._store.claim(name, limit=limit, hold_ms=self._hold_ms) if limit > 0 else []

    def _run(self, delivery: WebhookDelivery) -> None:
        """Attempt a delivery, and further ones to its webhook if it answers quickly."""
        ends_at, deliveries = time.monotonic() + _THREAD_S, [delivery]
        try:
            while deliveries:
                delivery = deliveries.pop()
                self.attempt(delivery)
                if time.monotonic() < ends_at:
                    deliveries = self._claim(delivery.webhook, 1)
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
