"""Lanes: queues beside the common queue, so that a tenant with many sessions does not delay those of other tenants.

A worker takes messages from the common queue and all lanes in rotation. The messages of a tenant are in one lane, so
every tenant gets the same share of a busy installation, unless more tenants are active than there are lanes
(`state/tenant_lanes.py`). Sessions without a tenant stay in the common queue. The common queue and each lane have two more queues, for high and low priority.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final

from ...models.sessions.priority import Priority, priority_queue

#: Number of lanes that a worker consumes. All workers of an installation must consume as many.
LANES: Final = 16


def lane_queue(queue: str, lane: int) -> str:
    """Return the name of a lane of the common queue `queue`."""
    return f"{queue}.lane.{lane}"


@lru_cache(maxsize=8)
def lane_queues(queue: str, lanes: int = LANES) -> tuple[str, ...]:
    """Return the queues of all priorities of the common queue `queue` and its lanes, without the common queue itself."""
    names = (queue, *(lane_queue(queue, lane) for lane in range(lanes)))
    return tuple(
        priority_queue(name, priority)
        for name in names
        for priority in Priority
        if priority_queue(name, priority) != queue
    )


def preferred_lane(tenant: str, lanes: int) -> int:
    """Return the lane of a tenant that no other tenant uses: the same in every process and release; `lanes`: at least 1."""
    return _hash(tenant) % lanes


def spread_lane(first: int, lanes: int, *, session: str, weight: int) -> int:
    """Return the lane of a session of a tenant.

    Args:
        first: First lane of the tenant.
        lanes: Number of lanes, at least 1.
        session: Id of the session.
        weight: Number of lanes over which the tenant's sessions are spread, at least 1.
    """
    return (first + _hash(session) % min(weight, lanes)) % lanes


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
