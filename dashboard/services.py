"""Services of the dashboard in one Flower process: settings, client, sessions in memory, and their reader.

They are opened by the first request, on the event loop of Flower, and shared by all requests.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from ..client.aio.client import AsyncClient
from ..client.building.connection import redis_url_in_use
from ..config.settings import Settings, load_settings
from ..jobs.conditions import AttentionLimits
from ..models.errors import SymposiaError
from ..state.redis.connect import aconnect
from .live.hub import Hub
from .live.load_limits import StreamSlots
from .live.session_list import SessionList

if TYPE_CHECKING:
    from tornado.web import Application

_KEY = "symposia_services"
#: Setting of the application with the state of the data, a `HealthFeed`; also before the services are open.
HEALTH = "symposia_health"


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers use."""

    settings: Settings
    #: Calls that change something, and reads of single objects.
    client: AsyncClient
    #: Reads that need no thread.
    redis: Redis
    #: The sessions in memory, kept up to date by `hub`.
    sessions: SessionList
    hub: Hub
    slots: StreamSlots
    #: Opens the archive; a task that is not referred to may be collected.
    warm_up: asyncio.Task[None]


async def open_services(application: Application) -> Services:
    """Return the services of this process. The first call opens them and loads the unfinished sessions.

    Raises:
        RedisUnavailable: Redis does not answer; the next call tries again.
    """
    opening: asyncio.Task[Services] | None = application.settings.get(_KEY)
    if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
        # One task for all requests that wait: a request that is cancelled must not cancel it.
        opening = application.settings[_KEY] = asyncio.create_task(_open())
    services = await asyncio.shield(opening)
    application.settings[HEALTH] = services.hub.health
    return services


async def _open() -> Services:
    settings = load_settings()
    redis = aconnect(await asyncio.to_thread(redis_url_in_use, settings))
    sessions = SessionList()
    hub = Hub(
        redis,
        sessions,
        limits=AttentionLimits(int(settings.stuck_after_s * 1000)),
        retention_ms=settings.retention_s * 1000,
    )
    try:
        await hub.start()
    except BaseException:
        await redis.aclose()
        raise
    client = AsyncClient(settings)
    return Services(
        settings, client, redis, sessions, hub, StreamSlots(), asyncio.create_task(_warm_up(client))
    )


async def _warm_up(client: AsyncClient) -> None:
    """Open the archive, which takes a second, before a page needs it."""
    with suppress(SymposiaError):  # the request that needs it reports the error
        await client.archived()
