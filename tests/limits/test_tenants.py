"""What a tenant may spend a day: reserved before a turn begins, settled after it, across all sessions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from live import result_of, until
from sessions.inline_installation import InlineInstallation
from symposia.models.errors import InvalidInput
from symposia.models.sessions.limits import DailyLimits, SpendingBounds
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import tenant_keys
from symposia.state.sessions.records import Shortfall
from symposia.state.usage_limits import (
    UNKNOWN_TOKENS,
    ReservationAction,
    Settlement,
    TenantAccounts,
    TenantUsage,
)

pytestmark = pytest.mark.usefixtures("same_day")

LATE_MS = 600_000
LIMITS = DailyLimits(tokens=100)
THIRTY = SpendingBounds(tokens=30, cost_micros=0)


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def books(client):
    return TenantAccounts(client)


def reserve(books, name, most=THIRTY, *, limits=LIMITS, expires_in_ms=LATE_MS):
    return books.reserve("acme", name, most, limits=limits, expires_in_ms=expires_in_ms)


def settle(books, name, tokens, *, request=None, turns=1, **how):
    settlement = Settlement(request or f"by {name}", Usage(output_tokens=tokens), turns=turns, **how)
    books.book_usage("acme", name, settlement)


def test_reserved_and_spent_never_exceed_the_limit(books):
    assert [reserve(books, f"r{i}") for i in range(4)] == ["reserved", "reserved", "reserved", "short"]
    for i in range(3):
        settle(books, f"r{i}", 29)
    assert reserve(books, "r4") == Shortfall("tokens", 13, 30)
    assert books.read_usage_today("acme") == TenantUsage(tokens=87, turns=3)


def test_tenants_do_not_pay_for_each_other(books):
    assert reserve(books, "r1", SpendingBounds(tokens=100, cost_micros=0)) == "reserved"
    assert books.reserve("other", "r2", THIRTY, limits=LIMITS, expires_in_ms=LATE_MS) == "reserved"


def test_repeated_reservation_counts_once(books):
    assert [reserve(books, "r1") for _ in range(5)] == ["reserved", *["found"] * 4]
    assert reserve(books, "r2") == "reserved"


def test_repeated_settlement_changes_nothing(books):
    reserve(books, "r1")
    for _ in range(3):
        settle(books, "r1", 30)
    assert books.read_usage_today("acme") == TenantUsage(tokens=30, turns=1)


def test_next_attempt_refills_its_reservation(books, client):
    assert reserve(books, "r1") == reserve(books, "r2") == "reserved"
    settle(books, "r1", 20, turns=0, action=ReservationAction.KEEP, keep_ms=LATE_MS)
    assert client.hget(tenant_keys("acme")[0], "reserved_tokens") == "40"
    assert reserve(books, "r3", SpendingBounds(tokens=41, cost_micros=0)) == "short", (
        "nobody else is given it"
    )
    assert reserve(books, "r1") == "found"
    assert client.hget(tenant_keys("acme")[0], "reserved_tokens") == "60"
    settle(books, "r1", 30, request="second attempt")
    assert books.read_usage_today("acme") == TenantUsage(tokens=50, turns=1)


def test_late_worker_pays_and_leaves_the_reservation(books, client):
    reserve(books, "r1")
    settle(books, "r1", 5, turns=0, action=ReservationAction.LEAVE)
    assert books.read_usage_today("acme") == TenantUsage(tokens=5)
    assert client.hget(tenant_keys("acme")[0], "reserved_tokens") == "30"


def test_reservation_of_a_dead_worker_is_returned(books):
    assert reserve(books, "r1", SpendingBounds(tokens=100, cost_micros=0), expires_in_ms=1) == "reserved"
    until(lambda: reserve(books, "r2") == "reserved", what="the reservation expires")


def test_unknown_cost_reserves_a_usual_amount(books, client):
    reserve(books, "r1", SpendingBounds(), limits=DailyLimits(tokens=10 * UNKNOWN_TOKENS))
    assert client.hget(tenant_keys("acme")[0], "reserved_tokens") == str(UNKNOWN_TOKENS)


def test_new_day_keeps_open_reservations(books, client):
    reserve(books, "r1")
    reserve(books, "r2")
    settle(books, "r1", 60)
    key = tenant_keys("acme")[0]
    client.hset(key, "day", int(client.hget(key, "day")) - 1)
    assert books.read_usage_today("acme") == TenantUsage()
    assert [reserve(books, "r3"), reserve(books, "r4"), reserve(books, "r5")] == [
        "reserved",
        "reserved",
        "short",
    ]


def test_tenant_keys_expire(books, client):
    reserve(books, "r1")
    assert all(0 < client.ttl(key) <= 172_800 for key in tenant_keys("acme"))


def test_concurrent_tenants_never_overspend(books):
    def take(number):
        word = reserve(books, f"r{number}", SpendingBounds(tokens=10, cost_micros=0))
        if word == "reserved":
            settle(books, f"r{number}", 10)
        return word

    with ThreadPoolExecutor(16) as pool:
        words = list(pool.map(take, range(60)))
    assert words.count("reserved") == 10
    assert books.read_usage_today("acme").tokens == 100


DETAIL = "tenant acme: 10 tokens left today, but the next turn may use 30 tokens"

# -- in sessions ---------------------------------------------------------------------------------


@pytest.fixture
def frugal(tmp_path, redis_url):
    installation = InlineInstallation(tmp_path, redis_url, tenant_daily_tokens=100)
    yield installation
    installation.close()


def test_exhausted_tenant_ends_the_session(frugal, costing):
    def session():
        stop = MaxRounds(9)
        job = frugal.submit("round_robin", {"ann": costing(30)}, tenant="acme", stop=stop)
        frugal.work()
        return result_of(job)

    first, second = session(), session()
    assert (first.reason, first.detail) == ("tenant_budget", DETAIL)
    assert (first.ok, first.usage.tokens) == (True, 90)
    assert (second.reason, second.turns) == ("tenant_budget", 0)
    assert frugal.client.tenant("acme") == TenantUsage(tokens=90, turns=3)


def test_session_without_a_tenant_is_not_counted(frugal, costing):
    job = frugal.submit("round_robin", {"ann": costing(90)}, stop=MaxRounds(3))
    frugal.work()
    assert result_of(job).reason == "max_rounds"


def test_failed_turns_cost_the_tenant_nothing(frugal, costing):
    fails = {"agent": "noop", "parameters": {"replies": [{"fail": "no"}]}}
    stop, policy = MaxRounds(2), {"attempts": 1, "then": "skip"}
    job = frugal.submit("round_robin", {"ann": fails}, tenant="acme", stop=stop, policy=policy)
    frugal.deliver()
    frugal.queue.waiting.append(frugal.queue.waiting[0])
    frugal.work()
    assert result_of(job).turns == 1
    assert frugal.client.tenant("acme") == TenantUsage(turns=1)


def test_a_tenant_is_a_plain_name(frugal, costing):
    with pytest.raises(InvalidInput, match=r"^tenant: "):
        frugal.submit("round_robin", {"ann": costing(1)}, tenant="a b}")


def test_parked_turn_needs_no_tenant_budget(tmp_path, redis_url):
    """A message for an ended turn needs none either: only a turn that is to run is refused."""
    installation = InlineInstallation(tmp_path, redis_url, tenant_daily_turns=1)
    wait = {"deadline_s": 0.05, "then": "default", "default": "No objection."}
    waiting = installation.submit(
        "round_robin",
        {"ben": {"agent": "human", "wait": wait}},
        people=["ben"],
        tenant="acme",
        stop=MaxRounds(1),
    )
    installation.work()
    spending = installation.submit("round_robin", {"ann": "noop"}, tenant="acme", stop=MaxRounds(1))
    installation.work()
    assert installation.client.tenant("acme").turns == 1
    installation.sweep_until(waiting, lambda: waiting.state().is_final)
    assert [message.content for message in waiting.messages()] == ["No objection."]
    assert (result_of(spending).reason, result_of(waiting).reason) == ("max_rounds",) * 2
    installation.close()


def test_usage_before_a_question_is_booked_at_once(frugal):
    usage = {"output_tokens": 30, "requests": 1}
    asks = {"agent": "noop", "parameters": {"replies": [{"say": "ASK ben: And now?", "usage": usage}]}}
    job = frugal.submit("round_robin", {"ann": asks}, people=["ben"], tenant="acme", stop=MaxRounds(1))
    frugal.work()
    assert frugal.client.tenant("acme") == TenantUsage(tokens=30)
    job.reply("ben", "go on")
    frugal.work()
    assert frugal.client.tenant("acme") == TenantUsage(tokens=60, turns=1)
    job = frugal.submit("round_robin", {"ann": asks}, people=["ben"], tenant="acme", stop=MaxRounds(1))
    frugal.work()
    job.cancel()
    assert frugal.client.tenant("acme") == TenantUsage(tokens=90, turns=1)
