"""Delivery to a webhook: the run as JSON, signed by the scheme of Standard Webhooks."""

from __future__ import annotations

import time

from ...agents.remote.signing import signed_headers
from ...agents.remote.webhook import WebhookTarget, post_webhook
from ...models.errors import AgentError, DeliveryFailed
from .entries import WebhookEntry
from .payload import ReportPayload, summary_json


def send_webhook(entry: WebhookEntry, parcel: ReportPayload, *, message_id: str, secret: str) -> None:
    """Post the run; it has arrived when this returns.

    Args:
        entry: the destination.
        parcel: the run.
        message_id: the same at every attempt, so that a receiver accepts it once.
        secret: the key for the signature, known to both sides.

    Raises:
        DeliveryFailed: it has not arrived; `retryable`: whether a retry may succeed.
    """
    body = summary_json(parcel.run)
    headers = signed_headers(secret, message_id, body, now_s=int(time.time()))
    try:
        post_webhook(WebhookTarget(entry.url, entry.timeout_s, entry.networks), body, headers)
    except AgentError as error:
        raise DeliveryFailed(
            str(error), retryable=error.retryable, retry_after_s=error.retry_after_s
        ) from None
