"""The scripts of tenants' days and of providers' minutes, one call at a time."""

from __future__ import annotations

import pytest

from symposia.models.sessions.limits import DailyLimits, Rate, SpendingBounds
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Usage
from symposia.state.redis.keys import rate_key, tenant_keys
from symposia.state.redis.readers import server_ms
from symposia.state.usage_limits import (
    Permit,
    RateLimiter,
    ReservationAction,
    Settlement,
    TenantAccounts,
    TenantUsage,
)

LIMITS = DailyLimits(tokens=100)

pytestmark = pytest.mark.usefixtures("same_day")


@pytest.fixture
def books(client):
    return TenantAccounts(client)


def reserve(books, reservation, tokens, *, limits=LIMITS):
    return books.reserve(
        "acme", reservation, SpendingBounds(tokens=tokens, cost_micros=0), limits=limits, expires_in_ms=60_000
    )


def settle(books, reservation, tokens, fate=ReservationAction.RELEASE):
    books.book_usage(
        "acme", reservation, Settlement(new_id(), Usage(output_tokens=tokens), action=fate, keep_ms=60_000)
    )


def held(client, reservation):
    books, expiries = tenant_keys("acme")
    return client.hget(books, f"held:{reservation}"), client.zscore(expiries, reservation)


def test_existing_reservation_is_found(books):
    assert reserve(books, "one", 60) == "reserved"
    settle(books, "two", 90)
    assert reserve(books, "one", 60) == "found", "it is its own, whatever others have spent since"
    assert reserve(books, "three", 1) == "short"


def test_usage_without_a_reservation_is_booked(books):
    settle(books, "one", 7)
    assert books.read_usage_today("acme").tokens == 7


def test_a_released_reservation_leaves_nothing(books, client):
    reserve(books, "one", 60)
    settle(books, "one", 10)
    assert held(client, "one") == (None, None)


def test_kept_reservation_is_reduced_by_the_usage(books, client):
    reserve(books, "one", 60)
    settle(books, "one", 10, ReservationAction.KEEP)
    text, expires_ms = held(client, "one")
    assert '"tokens":50' in text
    assert expires_ms is not None


def test_new_day_starts_with_no_usage(books, client):
    settle(books, "one", 50)
    client.hincrby(tenant_keys("acme")[0], "day", -1)
    settle(books, "two", 10)
    assert books.read_usage_today("acme") == TenantUsage(tokens=10)
    client.hincrby(tenant_keys("acme")[0], "day", -1)
    assert reserve(books, "three", 100) == "reserved"


def test_old_settlement_is_forgotten(books, client):
    settle(books, "one", 50)
    expiries = tenant_keys("acme")[1]
    (known,) = client.zrange(expiries, 0, -1)
    client.zadd(expiries, {known: 1})
    assert reserve(books, "two", 50) == "reserved"
    assert client.zscore(expiries, known) is None


def test_turn_waits_until_the_minute_allows_it(client):
    now_s = server_ms(client) // 1_000
    client.hset(rate_key("house"), mapping={str(now_s - 30): "1 20", str(now_s - 10): "1 80"})
    client.expire(rate_key("house"), 100)
    book = RateLimiter(client)
    wait_ms = book.admit(Rate(model="house", tokens=100, turn_tokens=60))
    assert 45_000 < wait_ms <= 51_000
    assert isinstance(book.admit(Rate(model="house", requests=3)), Permit)
