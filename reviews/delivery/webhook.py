"""Delivers to a webhook: the run as JSON, signed by the scheme of Standard Webhooks."""

from __future__ import annotations

import time

from ...agents.signing import signed_headers
from ...agents.webhook import Target, post
from ...models.errors import AgentError, DeliveryFailed
from .entries import WebhookEntry
from .parcel import Parcel, letter


def send(entry: WebhookEntry, parcel: Parcel, *, message_id: str, secret: str) -> None:
    """Posts it; it has arrived once this returns.

    Args:
        entry: where to.
        parcel: the run.
        message_id: the same at every attempt, so that a receiver takes it once.
        secret: what both sides sign with.

    Raises:
        DeliveryFailed: it has not arrived; `retryable` says whether another try may help.
    """
    body = letter(parcel.run)
    headers = signed_headers(secret, message_id, body, now_s=int(time.time()))
    try:
        post(Target(entry.url, entry.timeout_s, entry.networks), body, headers)
    except AgentError as error:
        raise DeliveryFailed(
            str(error), retryable=error.retryable, retry_after_s=error.retry_after_s
        ) from None
