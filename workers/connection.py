"""Which Redis this process talks to."""

from __future__ import annotations

from ..config.settings import Settings
from .embedded import resolve_redis_url

#: Where a Redis usually listens: tried when none is configured and no embedded server runs.
USUAL_URL = "redis://127.0.0.1:6379/0"


def redis_url_in_use(settings: Settings) -> str:
    """The configured URL, else the running embedded server's, else the usual one."""
    return resolve_redis_url(settings) or USUAL_URL


def broker_url_in_use(settings: Settings) -> str:
    """Where task messages travel: the configured broker, else the Redis in use."""
    if settings.broker_url is not None:
        return settings.broker_url.get_secret_value()
    return redis_url_in_use(settings)
