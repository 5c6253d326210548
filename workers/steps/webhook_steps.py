"""Bootsteps of webhooks: delivery of queued events, and the work of incoming hooks."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...client.building.connection import connect_in_use
from ...client.building.webhooks import webhook_deliverer
from ...client.client import Client
from ...client.webhooks.hook_worker import HookWorker
from ...client.webhooks.webhooks_file import follow_webhooks
from ...config.settings import Settings
from ...reviews.state.reviewed_pulls import ReviewedPulls
from ...state.hooks import HookQueue
from .background_loops import BackgroundLoop, LoopStep

#: Maximum seconds between two checks for due deliveries.
_LOOK_EVERY_S = 1.0


class WebhookStep(LoopStep):
    """Bootstep that delivers queued events."""

    what = "webhooks"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop; without a webhook, it sends no command."""
        settings: Settings = worker.app.symposia_settings
        deliverer = webhook_deliverer(settings, connect_in_use(settings))
        interval_s = min(settings.sweep_interval_s, _LOOK_EVERY_S)
        return BackgroundLoop(self.what, deliverer.sweep, interval_s=interval_s)


class HookStep(LoopStep):
    """Bootstep that does the work of incoming hooks."""

    what = "hooks"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop; without a hook, it sends no command."""
        settings: Settings = worker.app.symposia_settings
        client = cache(lambda: Client(settings, app=worker.app))
        redis = connect_in_use(settings)
        hooks = HookWorker(client, ReviewedPulls(redis), follow_webhooks(settings), HookQueue(redis))
        interval_s = min(settings.sweep_interval_s, _LOOK_EVERY_S)
        return BackgroundLoop(self.what, hooks.sweep, interval_s=interval_s)
