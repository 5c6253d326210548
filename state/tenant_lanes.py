"""Lanes of the active tenants, in Redis: each has one of its own while there are enough.

Without Redis, and beyond `MAX_TENANTS`, a tenant has the lane that is computed from its name. A worker consumes all lanes,
so it does not matter if two processes use different lanes for a moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from redis import Redis

from ..models.errors import StateError
from .redis.keys import TENANT_LANES
from .redis.scripts import call_script

#: Milliseconds without a message after which another tenant may get the lane: a minute, and the time that a process
#: uses a lane which it has read.
TTL_MS: Final = 70_000
#: Maximum number of tenants with a recorded lane.
MAX_TENANTS: Final = 64
#: Seconds for which a process keeps the lane of a tenant in memory.
_CACHE_S: Final = 10.0
#: Maximum number of tenants whose lane a process keeps.
_MAX_CACHED: Final = 1_000


class TenantLanes:
    """Lanes of active tenants. Safe to use from several threads.

    Args:
        client: Redis client.
        clock: Function that returns monotonic seconds.
    """

    def __init__(self, client: Redis, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        #: Tenant -> time of the answer in seconds, lane.
        self._cache: dict[str, tuple[float, int]] = {}

    def find(self, tenant: str, *, preferred: int, lanes: int, weight: int = 1) -> int:
        """Return the lane of a tenant, which is active now.

        Args:
            tenant: Name of the tenant.
            preferred: Lane that it gets if no other active tenant uses it.
            lanes: Number of lanes, at least 1.
            weight: Number of lanes that it uses, from its lane on.
        """
        now_s = self._clock()
        asked_s, lane = self._cache.get(tenant, (-_CACHE_S, preferred))
        if now_s < asked_s + _CACHE_S and lane < lanes:
            return lane
        args: dict[str, str | int] = {
            "tenant": tenant,
            "preferred": preferred,
            "weight": weight,
            "count": lanes,
            "ttl_ms": TTL_MS,
            "max_tenants": MAX_TENANTS,
        }
        try:
            lane = int(call_script(self._client, "lanes/assign", [TENANT_LANES], args)[1])
        except StateError:
            lane = preferred
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[tenant] = now_s, lane
        return lane
