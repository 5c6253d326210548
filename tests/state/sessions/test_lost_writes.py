"""A server that lost its last writes, as one without an append-only file does when it is killed.

Counters go backwards then, and numbers are given out anew; only tokens never come twice.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis import Redis

from sessions.table import Table, turn
from symposia.models.sessions.plan import Step
from symposia.models.turns.turn import Usage
from symposia.state.redis.keys import DUE


@pytest.fixture
def remember(redis_url: str, client: Redis) -> Callable[[], Callable[[], None]]:
    """Takes down all that the server holds; the answer brings exactly that back."""

    def remember() -> Callable[[], None]:
        with Redis.from_url(redis_url) as raw:
            kept = {key: (raw.dump(key), max(0, raw.pttl(key))) for key in raw.scan_iter()}

        def come_back() -> None:
            with Redis.from_url(redis_url) as raw:
                raw.flushall()
                for key, (value, ttl_ms) in kept.items():
                    raw.restore(key, ttl_ms, value)

        return come_back

    return remember


def test_reused_fencing_number_refuses_first_holder(table, remember):
    number = table.plan_one()
    forget = remember()
    first = table.grant(number)
    forget()
    second = table.grant(number)
    assert first.fence == second.fence == 1
    assert not table.renew(first)
    assert table.commit(first, "from before the crash").word == "stale"
    assert table.commit(second, "after it").word == "committed"
    assert table.texts() == ["after it"]


def test_lost_commit_is_written_again_by_its_holder(table, remember):
    grant = table.grant(table.plan_one())
    forget = remember()
    table.commit(grant, "hello", then=table.write(Step(turns=(turn("bob"),)), after=grant.number))
    forget()
    assert table.texts() == []
    assert table.begin(2).word == "unknown", "a message about a turn that was never planned"
    assert table.commit(grant, "hello", usage=Usage(requests=1)).word == "committed"
    assert table.texts() == ["hello"]


def test_reused_turn_number_belongs_to_the_later_turn(table, remember):
    table.plan_one()
    forget = remember()
    two = table.plan_one(participant="bob", scope="b")
    early = table.grant(two, scope="b")
    forget()
    assert table.plan_one(participant="cyd", scope="c") == two
    late = table.grant(two, scope="c")
    assert table.commit(early, "bob's").word == "stale"
    assert table.commit(late, "cyd's").word == "committed"


def test_fully_lost_session_is_missing(client, remember):
    forget = remember()
    table = Table(client)
    grant = table.grant(table.plan_one())
    forget()
    assert table.commit(grant, "hello").word == "missing"
    assert not table.renew(grant)
    assert table.fail(grant).word == "missing"
    assert not list(client.scan_iter())


def test_submit_restores_a_lost_due_entry(client, index):
    """As where a cluster loses the newest writes of one master only."""
    index.add_session("s", look_in_ms=0)
    client.zrem(DUE, "s")
    assert index.claim(limit=1, hold_ms=1) == []
    index.add_session("s", look_in_ms=0)
    assert index.claim(limit=1, hold_ms=1) == ["s"]
