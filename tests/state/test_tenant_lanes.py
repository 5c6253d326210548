"""Lanes of active tenants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from redis import Redis

from symposia.state.redis.connect import connect
from symposia.state.redis.keys import TENANT_LANES
from symposia.state.tenant_lanes import MAX_TENANTS, TTL_MS, TenantLanes

LANES = 16
Find = Callable[..., int]


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def find(client: Redis) -> Find:
    """Find a lane; tenants prefer lane 3, and nothing is kept in memory."""
    seconds = count(step=60)
    lanes = TenantLanes(client, clock=lambda: float(next(seconds)))
    return lambda tenant, weight=1, preferred=3: lanes.find(
        tenant, preferred=preferred, lanes=LANES, weight=weight
    )


def test_active_tenants_have_lanes_of_their_own(find: Find):
    first = [find(f"t{number}") for number in range(LANES)]
    assert first == [(3 + number) % LANES for number in range(LANES)]
    assert find("late", preferred=9) == 9, "all have one tenant"
    assert find("later", preferred=9) == 10, "that one has two"
    assert [find(f"t{number}") for number in range(LANES)] == first


def test_tenant_with_a_weight_uses_several_lanes(find: Find):
    assert (find("a", 3), find("b", preferred=4), find("c", 20), find("d")) == (3, 6, 7, 7)


def test_lane_of_an_inactive_tenant_is_free(find: Find, client: Redis):
    entries = {"old": "3 1 1", "malformed": "x", "of-more-lanes": "16 1 99999999999999"}
    client.hset(TENANT_LANES, mapping=entries)
    assert find("new") == 3
    assert client.hkeys(TENANT_LANES) == ["new"]
    assert 0 < client.pttl(TENANT_LANES) <= TTL_MS


def test_number_of_recorded_tenants_is_limited(find: Find, client: Redis):
    for number in range(MAX_TENANTS):
        find(f"t{number}")
    assert find("more", preferred=7) == 7
    assert client.hlen(TENANT_LANES) == MAX_TENANTS


def test_preferred_lane_without_redis():
    with connect("redis://127.0.0.1:1/0", retries=0) as client:
        assert TenantLanes(client).find("a", preferred=5, lanes=LANES) == 5


def test_lane_is_kept_in_memory(client: Redis):
    lanes = TenantLanes(client, clock=lambda: 0.0)
    assert lanes.find("a", preferred=5, lanes=LANES) == 5
    client.delete(TENANT_LANES)
    assert lanes.find("a", preferred=6, lanes=LANES) == 5
    assert not client.exists(TENANT_LANES)
    assert lanes.find("a", preferred=2, lanes=4) == 2, "workers consume fewer lanes now"
