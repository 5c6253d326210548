"""Builders of the parts that send events to webhooks, from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...config.settings import Settings
from ...state.webhooks import WebhookStore
from ..webhooks.deliverer import WebhookDeliverer
from ..webhooks.events import WebhookEvents
from ..webhooks.webhooks_file import follow_webhooks

if TYPE_CHECKING:
    from redis import Redis


def webhook_events(settings: Settings, client: Redis) -> WebhookEvents:
    """Return the receiver of events of a process.

    Raises:
        InvalidInput: The webhooks file breaks a rule: without its webhooks, events would be lost.
    """
    config = follow_webhooks(settings)
    config()
    return WebhookEvents(config, WebhookStore(client))


def webhook_deliverer(settings: Settings, client: Redis) -> WebhookDeliverer:
    """Return the deliverer of a process."""
    return WebhookDeliverer(
        follow_webhooks(settings),
        WebhookStore(client),
        first_delay_ms=int(settings.redispatch_after_s * 1000),
    )
